"""Cost per training hour by the requested groups, tied to the bill."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.query import conversions, estimates, groups, keys
from trainfare.query.conversions import Conversion
from trainfare.query.estimates import Accuracy
from trainfare.query.medians import median_sql
from trainfare.query.open_books import Covered, OpenBooks
from trainfare.query.selection import Filters, Selection

PACKAGE = "trainfare.query"
SCOPES = ("full", "infra")
NON_JOB_KINDS = ("idle", "unallocated", "outside")
"""Kinds of payers that are not jobs; their cost has reasons."""
RATE_DENOMINATORS = {
    "wall": "h.billed_wall * 1000000",
    "gpu": "CASE WHEN NOT h.gpu_unknown THEN h.billed_gpu END",
    "productive": "CASE WHEN NOT h.gpu_unknown THEN h.billed_gpu END",
}
"""SQL for the time that a rate divides by, in millionths of a second: that of days billed in full, or billed GPUs."""
ALL_TIME = {"wall": "h.wall * CAST(1000000 AS HUGEINT)", "gpu": "NULL", "productive": "NULL"}
"""SQL for the time that `at_least` divides by. Nothing is known of GPU hours of which none is billed."""
PRODUCTIVE = {
    "held": "held",
    "busy": "busy by telemetry",
    "not_lost": "held and not lost to an interruption or restart",
}
"""The choices of what counts as a productive GPU hour, described."""


FINDINGS = """
SELECT code, what,
  CAST(to_json(flatten(list(from_json(evidence, '["VARCHAR"]') ORDER BY evidence))[1:5]) AS VARCHAR) AS evidence,
  CAST(sum("rows") AS BIGINT) AS "rows", sum(at_stake) AS at_stake, currency, remedy
FROM findings GROUP BY code, what, currency, remedy
ORDER BY abs(sum(at_stake)) DESC NULLS LAST, code, currency
"""
"""The findings of all open books, merged by kind."""


@dataclass(frozen=True)
class Question:
    """What to report: groups, cost basis, hours to divide by, scope, currency, days and filters."""

    by: list[str]
    basis: str = "effective"
    per: str = "wall"
    scope: str = "full"
    currency: str = "USD"
    days: tuple[date, date] | None = None
    filters: Filters = ()
    productive: str = "held"

    @property
    def selection(self) -> Selection:
        hours = self.productive if self.per == "productive" else "held"
        return Selection(self.currency, self.scope, self.days, self.filters, hours)


@dataclass(frozen=True)
class Row:
    """One group. A rate is `rate_cost` over the hours that are billed in full; without such hours there is no rate.

    The unbilled wall time is that of days on which a job held anything that is not billed: rates leave these days out.
    """

    group: dict[str, Any]
    cost: Decimal | None
    wall_seconds: int
    unbilled_wall_seconds: int
    gpu_seconds: Decimal | None
    unbilled_gpu_seconds: Decimal | None
    rate: Decimal | None
    rate_median: Decimal | None
    rate_p95: Decimal | None
    jobs: int
    estimated: Decimal = Decimal(0)
    """The part of the cost that is not billed yet."""
    rate_cost: Decimal | None = None
    """The cost that the rate divides: for days of the months that are billed in full, in whichever book."""
    at_least: Decimal | None = None
    """Without a rate: the billed cost per wall-clock hour, which is a lower bound."""
    billed_part: Decimal | None = None
    """Without a rate: the billed part of the GPU hours."""


@dataclass(frozen=True)
class NonJobPayer:
    """A payer that is not a job, with its cost by reason."""

    cost: Decimal
    reasons: list[tuple[str, Decimal]] = field(default_factory=list)
    estimated: Decimal = Decimal(0)
    """The part of the cost that is not billed yet."""
    estimated_by_reason: dict[str, Decimal] = field(default_factory=dict)
    """The part that is not billed yet, by reason."""
    groups: list[tuple[dict[str, Any], Decimal]] = field(default_factory=list)
    """Its cost per group, if the report groups by what it has: machines, days, what the bill states. They add up."""


@dataclass(frozen=True)
class RemainingGroups:
    """The groups that have no row of their own. Their hours do not add up: a job may have hours in several."""

    groups: int
    cost: Decimal | None
    estimated: Decimal


@dataclass(frozen=True)
class Report:
    """A cost report. The jobs, idle, unallocated and non-training cost of the question add up to `total`.

    `booked` and `bill` come from different tables, and `difference` is one minus the other. They cover the entire
    books: a bill has no teams, so the question's days and filters do not narrow them.
    """

    question: Question
    covered: Covered
    rows: list[Row]
    overall: Row
    idle: NonJobPayer
    unallocated: NonJobPayer
    outside: NonJobPayer
    total: Decimal
    booked: Decimal
    bill: Decimal
    findings: list[dict[str, Any]]
    estimated: Decimal = Decimal(0)
    """The part of the total that is not billed yet."""
    accuracy: Accuracy | None = None
    conversions: list[Conversion] = field(default_factory=list)
    """The exchange rates at which the books were converted from other currencies."""
    remaining: RemainingGroups | None = None
    """What the rows leave out, if not all groups were requested."""

    @property
    def difference(self) -> Decimal:
        return self.booked - self.bill

    @property
    def is_part(self) -> bool:
        """Return whether days or filters leave out a part of the books."""
        return self.covered.is_days or bool(self.question.filters)


def report(opened: OpenBooks, question: Question, top: int | None = None) -> Report:
    """Answer a question from the open books; with `top`, only the most expensive groups get a row, the others a sum."""
    engine = opened.engine
    payers = non_job_payers(opened, question)
    books = Selection(question.currency, question.scope)
    booked, bill = (
        engine.row(f"SELECT coalesce(sum({question.basis}), 0) FROM {table}")[0]
        for table in (groups.selected_shares(opened, books, []), f"bill_totals WHERE {books.money}")
    )
    (overall,) = rows(opened, question, [])
    shown, left_out = _top(opened, question, top) if question.by and top else (rows(opened, question, question.by), 0)
    return Report(
        question=question,
        covered=opened.covered(question.days),
        rows=shown,
        overall=overall,
        idle=replace(payers["idle"], groups=idle_groups(opened, question)),
        unallocated=payers["unallocated"],
        outside=payers["outside"],
        total=sum((one.cost for one in payers.values()), overall.cost or Decimal(0)),
        booked=booked,
        bill=bill,
        findings=engine.records(FINDINGS),
        estimated=sum((one.estimated for one in payers.values()), overall.estimated),
        accuracy=estimates.accuracy(opened, question.currency),
        conversions=conversions.applied_conversions(opened, books.money, question.basis),
        remaining=_remaining(left_out, shown, overall) if left_out else None,
    )


def _remaining(count: int, shown: list[Row], overall: Row) -> RemainingGroups:
    """Return the cost of all jobs less the rows that are shown."""
    cost = None if overall.cost is None else overall.cost - sum(one.cost or 0 for one in shown)
    return RemainingGroups(count, cost, overall.estimated - sum(one.estimated for one in shown))


def non_job_payers(opened: OpenBooks, question: Question) -> dict[str, NonJobPayer]:
    """Return the idle, unallocated and non-training cost, with its reasons."""
    estimated = f"coalesce(sum(s.{question.basis}) FILTER (s.estimated), 0)"
    found = opened.engine.rows(
        f"SELECT s.payer_kind, s.reason, sum(s.{question.basis}) AS cost, {estimated} "
        f"FROM {groups.selected_shares(opened, question.selection, [])} "
        f"WHERE s.payer_kind IN ({', '.join(map(quoted, NON_JOB_KINDS))}) "
        "GROUP BY s.payer_kind, s.reason ORDER BY abs(cost) DESC, s.reason"
    )
    return {kind: _non_job_payer([values for of, *values in found if of == kind]) for kind in NON_JOB_KINDS}


def idle_groups(opened: OpenBooks, question: Question) -> list[tuple[dict[str, Any], Decimal]]:
    """Return the idle cost per group, highest first; none if the question groups by what only jobs have."""
    if not question.by or any(key in keys.JOB_KEYS or key.startswith("label:") for key in question.by):
        return []
    columns = ", ".join(f"{keys.share_sql(key)} AS k{index}" for index, key in enumerate(question.by))
    names = [f"k{index}" for index in range(len(question.by))]
    found = opened.engine.rows(
        f"SELECT {columns}, sum(s.{question.basis}) AS cost "
        f"FROM {groups.selected_shares(opened, question.selection, question.by)} WHERE s.payer_kind = 'idle' "
        f"GROUP BY ALL HAVING sum(s.{question.basis}) <> 0 ORDER BY {', '.join(_order(question.by, names))}"
    )
    shown = [keys.display_name(key) for key in question.by]
    return [(dict(zip(shown, values, strict=True)), cost) for *values, cost in found]


def _non_job_payer(found: list[list[Any]]) -> NonJobPayer:
    reasons = [(str(reason), cost) for reason, cost, _ in found]
    estimated = {str(reason): part for reason, _, part in found}
    cost = sum((cost for _, cost in reasons), Decimal(0))
    return NonJobPayer(cost, reasons, sum(estimated.values(), Decimal(0)), estimated)


def rows(opened: OpenBooks, question: Question, by: list[str]) -> list[Row]:
    """Return the cost, hours and rates of jobs per group of these keys; without keys, one row for all."""
    return _rows(opened, question, by, opened.engine.records(select(opened, question, by)))


def _top(opened: OpenBooks, question: Question, top: int) -> tuple[list[Row], int]:
    """Return the rows of the most expensive groups, and the number of the other groups."""
    names = [f"k{index}" for index in range(len(question.by))]
    is_top = f"row_number() OVER (ORDER BY {', '.join(_order([], names))}) <= {top}"
    found = opened.engine.records(
        f"SELECT *, count(*) OVER () AS groups FROM ({select(opened, question, question.by)}) QUALIFY {is_top} "
        f"ORDER BY {', '.join(_order(question.by, names))}"
    )
    return _rows(opened, question, question.by, found), found[0]["groups"] - len(found) if found else 0


def _rows(opened: OpenBooks, question: Question, by: list[str], found: list[dict[str, Any]]) -> list[Row]:
    estimated = estimates.by_group(opened, question.basis, question.selection, by)
    return [_row(record, by, estimated) for record in found]


def select(opened: OpenBooks, question: Question, by: list[str]) -> str:
    """Return the SELECT behind `rows`: its groups are k0, k1 ..."""
    grouped = groups.Groups(question.basis, question.selection, by, question.per)
    names, held = grouped.names, grouped.hour_names
    same_job = "".join(f", {name}" for name in held)
    time = ", ".join(f"sum({name}) OVER of_job AS {name}" for name in ("billed_wall", "billed_gpu"))
    shared = f"SELECT * REPLACE ({time}, bool_or(gpu_unknown) OVER of_job AS gpu_unknown) FROM facts"
    fragments = {
        "group_costs": grouped.costs(opened),
        "facts": grouped.facts(opened),
        "timed": f"({shared} WINDOW of_job AS (PARTITION BY job{same_job}))" if held != names else "facts",
        "names": "".join(f", {name}" for name in names),
        "held_names": same_job,
        "joined": "FULL" if len(held) == len(names) else "LEFT",
        "same_group": " AND ".join(["true", *(f"c.{name} IS NOT DISTINCT FROM h.{name}" for name in held)]),
        "same_rate_group": " AND ".join(["true", *(f"r.{name} IS NOT DISTINCT FROM c.{name}" for name in names)]),
        "either": "".join(f", coalesce(c.{n}, h.{n}) AS {n}" if n in held else f", c.{n} AS {n}" for n in names),
        "order": ", ".join(_order(by, names)),
        "priced": RATE_DENOMINATORS[question.per],
        "all_time": ALL_TIME[question.per],
        "median": median_sql("h.rate", "DECIMAL(38,6)"),
    }
    return step_text(PACKAGE, "cost", fragments)


def _order(by: list[str], names: list[str]) -> list[str]:
    """Return the sort order: highest cost first, but days and months in their own order."""
    in_order = [f"{name} NULLS LAST" for name in names]
    return in_order if by and by[0] in keys.TIME_KEYS else ["cost DESC NULLS LAST", *in_order]


def _row(record: dict[str, Any], by: list[str], estimated: Mapping[tuple[Any, ...], Decimal]) -> Row:
    group = {keys.display_name(key): record[f"k{index}"] for index, key in enumerate(by)}
    gpu = None if record["gpu_unknown"] else Decimal(record["gpu"] or 0).scaleb(-6)
    unbilled = None if record["gpu_unknown"] else Decimal((record["gpu"] or 0) - (record["billed_gpu"] or 0)).scaleb(-6)
    has_rate = record["rate"] is not None
    return Row(
        group=group,
        cost=record["cost"],
        wall_seconds=int(record["wall"] or 0),
        unbilled_wall_seconds=int(record["wall"] or 0) - int(record["billed_wall"] or 0),
        gpu_seconds=gpu,
        unbilled_gpu_seconds=unbilled,
        rate=record["rate"],
        rate_median=record["rate_median"],
        rate_p95=record["rate_p95"],
        jobs=int(record["jobs"] or 0),
        estimated=estimated.get(tuple(group.values()), Decimal(0)),
        rate_cost=record["rate_cost"] if has_rate else None,
        at_least=record["at_least"],
        billed_part=None if has_rate or not gpu or unbilled is None else billed_part(gpu - unbilled, gpu),
    )


def billed_part(billed: Decimal, held: Decimal) -> Decimal:
    """Return the billed part of GPU time to a millionth, rounded down: 1 only if all of it is billed."""
    return (billed * 10**6 // held).scaleb(-6)
