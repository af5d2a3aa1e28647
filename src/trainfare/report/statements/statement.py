"""One statement: what a team or cost center is charged for a month, for what, and how it ties out to the bill."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.query import cost, jobs
from trainfare.query.cost import Question, Report, Row
from trainfare.query.jobs import Listing
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import NONE
from trainfare.quoting import file_name
from trainfare.tables import LABELS

MAX_JOBS = 10_000


class MissingPackageError(TrainfareError):
    """A format needs a package that is not installed, whatever the statement."""

    def __init__(self, format_: str, package: str) -> None:
        do = "Install it with: pip install 'trainfare[statements]'"
        super().__init__("statement", f"{format_} needs the package {package}", do)


DEFINITIONS = {
    "Effective cost": "The cost after discounts, with commitments amortized over what they cover (FOCUS EffectiveCost).",
    "Billed cost": "The amount on the invoice (FOCUS BilledCost). List and contracted cost use list and negotiated prices.",
    "Infrastructure": "Everything except licenses and labor.",
    "Training hour": "Wall hour: time in which a job held any machine, each second once. GPU hour: that time times GPUs held.",
    "Rate": "Cost over hours: per wall hour, of days that are billed in full; per GPU hour, of billed GPU hours. A group's "
    "rate is its cost over its hours, not a mean of rates.",
    "Idle": "Machine time that no job held.",
    "Unallocated": "Charges that no rule allocates to anybody.",
    "Non-training": "Charges that are not for training.",
    "Estimated": "The expected cost of machine hours that are not billed yet. A closed month has none.",
    "Ties out": "The parts add up to the bill exactly; there is no tolerance.",
    "Version": "A published book never changes. When a bill or a rule changes, the month gets a new version; "
    "after closing, later changes are booked in the next open month.",
}


@dataclass(frozen=True)
class BookState:
    """The book that a statement shows: its version, status and settings."""

    version: int
    built: date
    status: str
    settings: str

    @property
    def rules(self) -> str:
        """Return the version of rules and settings: the first digits of their fingerprint."""
        return sha256(self.settings.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Statement:
    """`ties` lists the parts of the bill, this statement's first; they add up to `total`, which equals the bill."""

    month: str
    book: BookState
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
    is_ambiguous: bool = False
    """Whether another value of the label differs by case only, which not every file system can tell apart."""

    @property
    def name(self) -> str:
        """Return the file name without its extension: safe, and that of no other statement of the month."""
        return f"{self.month}-v{self.book.version}-{self.key}-{file_name(self.value, self.is_ambiguous)}"

    @property
    def title(self) -> str:
        return f"{self.key.replace('_', ' ').capitalize()} {self.value}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        question = self.question
        scope = "everything" if question.scope == "full" else "infrastructure: without licenses and labor"
        return [
            (self.key.replace("_", " ").capitalize(), self.value),
            ("Month", self.month),
            ("Book", f"version {self.book.version}, {self.book.status}"),
            ("Cost basis", f"{question.basis} cost in {question.currency}, {scope}"),
            ("Rules", f"version {self.book.rules}"),
        ]

    @property
    def ties_out(self) -> bool:
        return self.total == self.bill == sum((part for _, part in self.ties), Decimal(0))


_JOB_FIELDS = {"team": "Account, or ", "cost_center": "WCKey, or ", "owner": "User, or "}
"""The fields of a Slurm job that become labels; every label can also be given in the job's comment."""


def statements(
    opened: OpenBooks, question: Question, key: str, book: BookState, wanted: Sequence[str] = ()
) -> list[Statement]:
    """Return the statement of each value of a label in one book, or of the wanted ones, highest cost first."""
    if key not in LABELS:
        raise TrainfareError("--by", f"there are no statements by '{key}'", f"Use one of {', '.join(LABELS)}.")
    report = cost.report(opened, replace(question, by=[key]))
    named = [_value(row, key) for row in report.rows]
    if missing := [value for value in wanted if value not in named]:
        known = ", ".join(named[:12]) + (" ..." if len(named) > 12 else "")
        raise TrainfareError("statement", f"nothing is charged to {key} '{missing[0]}'", f"Use one of {known}.")
    if named == [NONE]:
        do = (
            f'Add a column {key} to the job log (in Slurm: {_JOB_FIELDS.get(key, "")}--comment "{key}=...") '
            "and rebuild, or choose another label with --by."
        )
        raise TrainfareError("statement", f"no job has a {key}", do)
    by_name = Counter(value.casefold() for value in named)
    chosen = [row for row in report.rows if not wanted or _value(row, key) in wanted]
    found = [_statement(opened, report, key, book, row) for row in chosen]
    return [replace(one, is_ambiguous=by_name[one.value.casefold()] > 1) for one in found]


def _value(row: Row, key: str) -> str:
    return str(row.group[key] or NONE)


def _statement(opened: OpenBooks, report: Report, key: str, book: BookState, row: Row) -> Statement:
    value = _value(row, key)
    question = replace(report.question, filters=(*report.question.filters, (key, (value,))))
    listed = jobs.jobs(opened, question, Listing(limit=MAX_JOBS))
    categories = [(one.group["category"], one.cost or Decimal(0)) for one in cost.rows(opened, question, ["category"])]
    own = row.cost or Decimal(0)
    others = sum((one.cost or Decimal(0) for one in report.rows), Decimal(0)) - own
    ties = [
        (f"{key.replace('_', ' ').capitalize()} {value}", own),
        ("All others", others),
        ("Idle", report.idle.cost),
        ("Unallocated", report.unallocated.cost),
        ("Non-training", report.outside.cost),
    ]
    return Statement(
        month=str(opened.books[0].month),
        book=book,
        key=key,
        value=value,
        question=report.question,
        row=row,
        categories=categories,
        projects=cost.rows(opened, question, ["project"]),
        jobs=listed.rows,
        job_count=listed.count,
        ties=ties,
        total=report.total,
        bill=report.bill,
    )
