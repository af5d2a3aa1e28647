"""One statement: what a team or cost centre is charged for a month, what for, and how that ties out to the bill."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.report import cost, jobs
from trainfare.report.cost import Question, Report, Row
from trainfare.report.jobs import Listing
from trainfare.report.opened import Opened
from trainfare.report.render import exact, hours
from trainfare.report.slice import NONE
from trainfare.tables import LABELS

MOST_JOBS = 10_000
DEFINITIONS = {
    "Effective cost": "What a charge costs after discounts, with commitments spread over what they cover (FOCUS EffectiveCost).",
    "Billed cost": "What the invoice asks for (FOCUS BilledCost). List and contracted cost are at list prices and at negotiated prices.",
    "Infrastructure": "Everything but licences and labour.",
    "Training hour": "Wall: the time in which a job held any machine, each second once. GPU: that time times the GPUs held.",
    "Rate": "Cost over the hours that the bill covers. A group's rate is its money over its hours, not the mean of its jobs.",
    "Idle": "Time of machines that nobody held.",
    "Unallocated": "Charges that no rule could give to anybody.",
    "Outside training": "Charges that are not training.",
    "Estimated": "What machines are expected to cost for hours that no bill speaks of yet. A closed month has none.",
    "Ties out": "The parts add up to the bill digit for digit; there is no tolerance.",
    "Version": "A published book never changes. When a bill or a rule changes, the month gets a new version; after closing, "
    "what comes later is booked in the next open month.",
}


@dataclass(frozen=True)
class Closed:
    """The state of the book that a statement is of."""

    version: int
    built: date
    told: str
    settings: str

    @property
    def rules(self) -> str:
        """The version of rules and settings: the first digits of their fingerprint."""
        return sha256(self.settings.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Statement:
    """`ties` lists the parts of the bill in order: this statement's first; they add up to `total`, which is the bill."""

    month: str
    closed: Closed
    key: str
    value: str
    question: Question
    row: Row
    categories: list[tuple[str, Decimal]]
    projects: list[Row]
    jobs: list[dict[str, Any]]
    job_count: int
    ties: list[tuple[str, Decimal]]
    total: Decimal
    bill: Decimal

    @property
    def name(self) -> str:
        """A file's name without its ending."""
        value = "".join(mark if mark.isalnum() or mark in "-_." else "-" for mark in self.value)
        return f"{self.month}-v{self.closed.version}-{self.key}-{value}"

    @property
    def title(self) -> str:
        return f"{self.key.replace('_', ' ').capitalize()} {self.value}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        asked = self.question
        scope = "everything" if asked.scope == "full" else "infrastructure: without licences and labour"
        return [
            ("Month", self.month),
            ("Book", f"version {self.closed.version}, {self.closed.told}"),
            ("Cost", f"{asked.basis} cost in {asked.currency}, {scope}"),
            ("Rules", f"version {self.closed.rules}"),
        ]

    @property
    def figures(self) -> list[tuple[str, str]]:
        unit = "wall hour" if self.question.per == "wall" else "GPU hour"
        told = [
            ("Cost", exact(self.row.cost or Decimal(0))),
            ("of it estimated", exact(self.row.estimated)),
            ("Jobs", f"{self.row.jobs:,}"),
            ("Wall hours", hours(self.row.wall_seconds)),
            ("GPU hours", hours(self.row.gpu_seconds)),
            (f"Cost per {unit}", exact(self.row.rate)),
        ]
        return [(name, value or "-") for name, value in told]

    @property
    def ties_out(self) -> bool:
        return self.total == self.bill == sum((part for _, part in self.ties), Decimal(0))


_SLURM = {"team": "Account, or ", "cost_center": "WCKey, or ", "owner": "User, or "}
"""What of a job's record in Slurm is a label; any can stand in its comment."""


def statements(
    opened: Opened, question: Question, key: str, closed: Closed, wanted: Sequence[str] = ()
) -> list[Statement]:
    """The statement of each value of a label in one book, or of those wanted, dearest first."""
    if key not in LABELS:
        raise TrainfareError("--by", f"statements are not made by '{key}'", f"Use one of {', '.join(LABELS)}.")
    report = cost.report(opened, replace(question, by=[key]))
    named = [_value(row, key) for row in report.rows]
    if missing := [value for value in wanted if value not in named]:
        told = ", ".join(named[:12]) + (" ..." if len(named) > 12 else "")
        raise TrainfareError("statement", f"nothing is charged to {key} '{missing[0]}'", f"There are {told}.")
    if named == [NONE]:
        do = (
            f'Add a column {key} to the job log (of Slurm: {_SLURM.get(key, "")}--comment "{key}=...") and build again, '
            "or choose another label with --by."
        )
        raise TrainfareError("statement", f"no job has a {key}", do)
    return [
        _statement(opened, report, key, closed, row) for row in report.rows if not wanted or _value(row, key) in wanted
    ]


def _value(row: Row, key: str) -> str:
    return str(row.group[key] or NONE)


def _statement(opened: Opened, report: Report, key: str, closed: Closed, row: Row) -> Statement:
    value = _value(row, key)
    asked = replace(report.question, only=(*report.question.only, (key, (value,))))
    listed = jobs.jobs(opened, asked, Listing(limit=MOST_JOBS))
    categories = [(one.group["category"], one.cost or Decimal(0)) for one in cost.rows(opened, asked, ["category"])]
    own = row.cost or Decimal(0)
    others = sum((one.cost or Decimal(0) for one in report.rows), Decimal(0)) - own
    ties = [
        (f"{key.replace('_', ' ').capitalize()} {value}", own),
        ("All others that are charged", others),
        ("Idle", report.idle.cost),
        ("Unallocated", report.unallocated.cost),
        ("Outside training", report.outside.cost),
    ]
    return Statement(
        str(opened.books[0].month),
        closed,
        key,
        value,
        report.question,
        row,
        categories,
        cost.rows(opened, asked, ["project"]),
        listed.rows,
        listed.count,
        ties,
        report.total,
        report.bill,
    )
