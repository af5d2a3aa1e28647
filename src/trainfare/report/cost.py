"""Cost per training hour, grouped as asked, tied to the bill."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted, step_text
from trainfare.report import keys
from trainfare.report.opened import Opened
from trainfare.tables import NOT_INFRASTRUCTURE

PACKAGE = "trainfare.report"
SCOPES = ("full", "infra")
PRICED = {
    "wall": "h.billed_wall * CAST(1000000 AS HUGEINT)",
    "gpu": "CASE WHEN NOT h.gpu_unknown THEN h.billed_gpu END",
}
"""SQL for the time a rate divides by, in millionths of a second."""


FINDINGS = """
SELECT code, what, CAST(to_json(flatten(list(from_json(evidence, '["VARCHAR"]') ORDER BY evidence))[1:5]) AS VARCHAR) AS evidence,
  CAST(sum("rows") AS BIGINT) AS "rows", sum(at_stake) AS at_stake, currency, remedy
FROM findings GROUP BY code, what, currency, remedy
ORDER BY abs(sum(at_stake)) DESC NULLS LAST, code, currency
"""
"""The findings of all opened books, those of one kind told once."""


@dataclass(frozen=True)
class Question:
    """What is asked: the groups, the cost, the hours and the part of the bill."""

    by: list[str]
    basis: str = "effective"
    per: str = "wall"
    scope: str = "full"
    currency: str = "USD"


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


@dataclass(frozen=True)
class Pseudo:
    """A payer that is no job, with the reasons it was given money for."""

    cost: Decimal
    reasons: list[tuple[str, Decimal]] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """The answer. `total` and `bill` come from different tables; `difference` is what is between them."""

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

    @property
    def difference(self) -> Decimal:
        return self.total - self.bill


def report(opened: Opened, question: Question) -> Report:
    """Answer the question from the opened books."""
    engine = opened.engine
    where = _where(question)
    pseudo = {kind: _pseudo(engine, question, kind) for kind in ("idle", "unallocated", "outside")}
    total, bill = (
        engine.row(f"SELECT coalesce(sum({question.basis}), 0) FROM {table} WHERE {where}")[0]
        for table in ("shares", "bill_totals")
    )
    (overall,) = _rows(engine, question, [])
    return Report(
        question,
        opened.start,
        opened.end,
        opened.complete_through,
        _rows(engine, question, question.by) if question.by else [overall],
        overall,
        pseudo["idle"],
        pseudo["unallocated"],
        pseudo["outside"],
        total,
        bill,
        engine.records(FINDINGS),
    )


def _where(question: Question) -> str:
    where = f"currency = {quoted(question.currency)}"
    if question.scope == "infra":
        where += f" AND category NOT IN ({', '.join(quoted(name) for name in NOT_INFRASTRUCTURE)})"
    return where


def _pseudo(engine: DuckDB, question: Question, kind: str) -> Pseudo:
    found = engine.rows(
        f"SELECT reason, sum({question.basis}) AS cost FROM shares WHERE payer_kind = '{kind}' AND {_where(question)} "
        "GROUP BY reason ORDER BY abs(cost) DESC, reason"
    )
    reasons = [(str(reason), cost) for reason, cost in found]
    return Pseudo(sum((cost for _, cost in reasons), Decimal(0)), reasons)


def _rows(engine: DuckDB, question: Question, by: list[str]) -> list[Row]:
    holds = {index: sql for index, key in enumerate(by) if (sql := keys.of_hold(key))}
    names = [f"k{index}" for index in range(len(by))]
    held = [f"k{index}" for index in holds]
    fragments = {
        "basis": question.basis,
        "where": _where(question),
        "share_keys": "".join(f", {keys.of_share(key)} AS k{index}" for index, key in enumerate(by)),
        "hold_keys": "".join(f", {sql} AS k{index}" for index, sql in holds.items()),
        "names": "".join(f", {name}" for name in names),
        "held_names": "".join(f", {name}" for name in held),
        "same_group": " AND ".join(["true", *(f"c.{name} IS NOT DISTINCT FROM h.{name}" for name in held)]),
        "same_rate_group": " AND ".join(["true", *(f"r.{name} IS NOT DISTINCT FROM c.{name}" for name in names)]),
        "either": "".join(f", coalesce(c.{n}, h.{n}) AS {n}" if n in held else f", c.{n} AS {n}" for n in names),
        "spans": "days" if any(key in keys.OF_TIME for key in by) else "whole",
        "priced": PRICED[question.per],
        "order": ", ".join(_order(by, names)),
        "joined": "FULL" if len(held) == len(names) else "LEFT",
    }
    found = engine.records(step_text(PACKAGE, "cost", fragments))
    return [_row(record, by) for record in found]


def _order(by: list[str], names: list[str]) -> list[str]:
    """Dearest first; but days and months come in their order."""
    in_order = [f"{name} NULLS LAST" for name in names]
    return in_order if by and by[0] in keys.OF_TIME else ["cost DESC NULLS LAST", *in_order]


def _row(record: dict[str, Any], by: list[str]) -> Row:
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
    )
