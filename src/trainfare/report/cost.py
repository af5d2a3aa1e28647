"""Cost per training hour, grouped as asked, tied to the bill."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.report import converted, estimated, groups, keys
from trainfare.report.converted import Converted
from trainfare.report.estimated import Accuracy
from trainfare.report.opened import Opened
from trainfare.report.slice import HELD, Only, Slice

PACKAGE = "trainfare.report"
SCOPES = ("full", "infra")
PSEUDO = ("idle", "unallocated", "outside")
"""Payers that are no jobs and have reasons."""
PRICED = {
    "wall": "h.billed_wall * CAST(1000000 AS HUGEINT)",
    "gpu": "CASE WHEN NOT h.gpu_unknown THEN h.billed_gpu END",
    "productive": "CASE WHEN NOT h.gpu_unknown THEN h.billed_gpu END",
}
"""SQL for the time a rate divides by, in millionths of a second."""
PRODUCTIVE = {
    "held": "held",
    "busy": "busy by telemetry",
    "not_lost": "held and not lost to an interruption or restart",
}
"""Which GPU hours may be called productive, and in words."""


FINDINGS = """
SELECT code, what, CAST(to_json(flatten(list(from_json(evidence, '["VARCHAR"]') ORDER BY evidence))[1:5]) AS VARCHAR) AS evidence,
  CAST(sum("rows") AS BIGINT) AS "rows", sum(at_stake) AS at_stake, currency, remedy
FROM findings GROUP BY code, what, currency, remedy
ORDER BY abs(sum(at_stake)) DESC NULLS LAST, code, currency
"""
"""The findings of all opened books, those of one kind told once."""


@dataclass(frozen=True)
class Question:
    """What is asked: the groups, the cost, the hours, the part of the bill, the days and whose."""

    by: list[str]
    basis: str = "effective"
    per: str = "wall"
    scope: str = "full"
    currency: str = "USD"
    days: tuple[date, date] | None = None
    only: Only = ()
    productive: str = "held"

    @property
    def slice(self) -> Slice:
        return Slice(self.currency, self.scope, self.days, self.only, self._held)

    @property
    def _held(self) -> str:
        """The placements that hours are counted from: all of them, or what of them was productive."""
        step = {"busy": "productive_busy", "not_lost": "productive_not_lost"}.get(self.productive)
        return f"({step_text(PACKAGE, step)})" if self.per == "productive" and step else HELD


@dataclass(frozen=True)
class Row:
    """One group. A rate is money over the hours the bill covers; without such hours there is none."""

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
    """The part of the cost that no bill says yet."""


@dataclass(frozen=True)
class Pseudo:
    """A payer that is no job, with the reasons it was given money for."""

    cost: Decimal
    reasons: list[tuple[str, Decimal]] = field(default_factory=list)
    estimated: Decimal = Decimal(0)
    """The part of the cost that no bill says yet."""
    expected: dict[str, Decimal] = field(default_factory=dict)
    """The same by reason."""


@dataclass(frozen=True)
class More:
    """The groups that are not told one by one. Their hours do not add up: a job may have some in several."""

    groups: int
    cost: Decimal | None
    estimated: Decimal


@dataclass(frozen=True)
class Report:
    """The answer. `total` and `bill` come from different tables; `difference` is what is between them. Both are of the whole
    books: a bill has no teams, so days and keys that were asked for do not narrow them.
    """

    question: Question
    start: datetime
    end: datetime
    complete_through: datetime | None
    rows: list[Row]
    overall: Row
    idle: Pseudo
    unallocated: Pseudo
    outside: Pseudo
    total: Decimal
    bill: Decimal
    findings: list[dict[str, Any]]
    estimated: Decimal = Decimal(0)
    """The part of the total that no bill says yet: billed and estimated together are what is shown."""
    accuracy: Accuracy | None = None
    conversions: list[Converted] = field(default_factory=list)
    """By which rates the books were converted from other currencies."""
    more: More | None = None
    """Beside the rows, if not all groups were asked for."""

    @property
    def difference(self) -> Decimal:
        return self.total - self.bill


def report(opened: Opened, question: Question, top: int | None = None) -> Report:
    """Answer the question from the opened books; of more groups than `top` the dearest are told, and the others together."""
    engine = opened.engine
    pseudo = reasons(opened, question)
    books = Slice(question.currency, question.scope)
    total, bill = (
        engine.row(f"SELECT coalesce(sum({question.basis}), 0) FROM {origin}")[0]
        for origin in (groups.paid(opened, books, []), f"bill_totals WHERE {books.money}")
    )
    (overall,) = rows(opened, question, [])
    told, beside = _dearest(opened, question, top) if question.by and top else (rows(opened, question, question.by), 0)
    (expected,) = engine.row(
        f"SELECT coalesce(sum({question.basis}), 0) FROM bill_totals WHERE {books.money} AND origin = 'estimate'"
    )
    return Report(
        question,
        opened.start,
        opened.end,
        opened.complete_through,
        told,
        overall,
        pseudo["idle"],
        pseudo["unallocated"],
        pseudo["outside"],
        total,
        bill,
        engine.records(FINDINGS),
        expected,
        estimated.accuracy(opened, question.currency),
        converted.conversions(opened, books.money, question.basis),
        _more(beside, told, overall) if beside else None,
    )


def _more(beside: int, told: list[Row], overall: Row) -> More:
    """What so many groups beside those that are told come to: all jobs less these."""
    cost = None if overall.cost is None else overall.cost - sum(one.cost or 0 for one in told)
    return More(beside, cost, overall.estimated - sum(one.estimated for one in told))


def reasons(opened: Opened, question: Question) -> dict[str, Pseudo]:
    """What idle, unallocated and outside pay, and why."""
    estimate = f"coalesce(sum(s.{question.basis}) FILTER (s.origin = 'estimate'), 0)"
    found = opened.engine.rows(
        f"SELECT s.payer_kind, s.reason, sum(s.{question.basis}) AS cost, {estimate} FROM {groups.paid(opened, question.slice, [])} "
        f"WHERE s.payer_kind IN ({', '.join(map(quoted, PSEUDO))}) GROUP BY s.payer_kind, s.reason ORDER BY abs(cost) DESC, s.reason"
    )
    return {kind: _pseudo([told for of, *told in found if of == kind]) for kind in PSEUDO}


def _pseudo(found: list[list[Any]]) -> Pseudo:
    told = [(str(reason), cost) for reason, cost, _ in found]
    expected = {str(reason): part for reason, _, part in found}
    return Pseudo(sum((cost for _, cost in told), Decimal(0)), told, sum(expected.values(), Decimal(0)), expected)


def rows(opened: Opened, question: Question, by: list[str]) -> list[Row]:
    """The cost of jobs, their hours and rates, per group of these keys; without keys one row for all."""
    return _rows(opened, question, by, opened.engine.records(select(opened, question, by)))


def _dearest(opened: Opened, question: Question, top: int) -> tuple[list[Row], int]:
    """The rows of the dearest groups, and how many groups there are beside them."""
    names = [f"k{index}" for index in range(len(question.by))]
    is_dear = f"row_number() OVER (ORDER BY {', '.join(_order([], names))}) <= {top}"
    found = opened.engine.records(
        f"SELECT *, count(*) OVER () AS groups FROM ({select(opened, question, question.by)}) QUALIFY {is_dear} "
        f"ORDER BY {', '.join(_order(question.by, names))}"
    )
    return _rows(opened, question, question.by, found), found[0]["groups"] - len(found) if found else 0


def _rows(opened: Opened, question: Question, by: list[str], found: list[dict[str, Any]]) -> list[Row]:
    expected = estimated.by_group(opened, question.basis, question.slice, by)
    return [_row(record, by, expected) for record in found]


def select(opened: Opened, question: Question, by: list[str]) -> str:
    """The SELECT behind `rows`: its groups are k0, k1 ..."""
    asked = groups.Groups(question.basis, billed_slice(opened, question), by)
    names = [f"k{index}" for index in range(len(by))]
    held = asked.held
    priced = {"priced": PRICED[question.per], "job_rate": job_rate(question)}
    known = asked.of_labels(opened, priced) or asked.of_sites(opened, priced)
    told = known or asked.from_digest(opened) or asked.from_shares(opened)
    fragments = (
        told
        | priced
        | {
            "names": "".join(f", {name}" for name in names),
            "held_names": "".join(f", {name}" for name in held),
            "same_group": " AND ".join(["true", *(f"c.{name} IS NOT DISTINCT FROM h.{name}" for name in held)]),
            "same_rate_group": " AND ".join(["true", *(f"r.{name} IS NOT DISTINCT FROM c.{name}" for name in names)]),
            "either": "".join(f", coalesce(c.{n}, h.{n}) AS {n}" if n in held else f", c.{n} AS {n}" for n in names),
            "order": ", ".join(_order(by, names)),
            "joined": "FULL" if len(held) == len(names) else "LEFT",
        }
    )
    return step_text(PACKAGE, "digest_cost" if known else "cost", fragments)


def billed_slice(opened: Opened, question: Question) -> Slice:
    """What is asked about. Hours that are paid in another currency count as not billed."""
    asked = question.slice
    if opened.has_all_hours_in(asked.currency):
        return asked
    given = {"placements": asked.held, "currency": quoted(asked.currency)}
    return replace(asked, held=f"({step_text(PACKAGE, 'billed_in', given)})")


def job_rate(question: Question) -> str:
    """SQL for the rate of a whole job j of a digest."""
    if question.scope == "full" and question.per in ("wall", "gpu"):
        return f"j.{question.per}_rate_{question.basis}"
    part = "infra_" if question.scope == "infra" else ""
    return f"per_hour(j.{part}{question.basis}, {PRICED[question.per].replace('h.', 'j.')})"


def _order(by: list[str], names: list[str]) -> list[str]:
    """Dearest first; but days and months come in their order."""
    in_order = [f"{name} NULLS LAST" for name in names]
    return in_order if by and by[0] in keys.OF_TIME else ["cost DESC NULLS LAST", *in_order]


def _row(record: dict[str, Any], by: list[str], expected: Mapping[tuple[Any, ...], Decimal]) -> Row:
    group = {keys.shown(key): record[f"k{index}"] for index, key in enumerate(by)}
    gpu = None if record["gpu_unknown"] else Decimal(record["gpu"] or 0).scaleb(-6)
    unbilled = None if record["gpu_unknown"] else Decimal((record["gpu"] or 0) - (record["billed_gpu"] or 0)).scaleb(-6)
    return Row(
        group,
        record["cost"],
        int(record["wall"] or 0),
        int(record["wall"] or 0) - int(record["billed_wall"] or 0),
        gpu,
        unbilled,
        record["rate"],
        record["rate_median"],
        record["rate_p95"],
        int(record["jobs"] or 0),
        expected.get(tuple(group.values()), Decimal(0)),
    )
