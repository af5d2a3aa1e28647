"""A figure: what stands above, what below, and the one divided by the other, last."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from trainfare.report import cost, keys
from trainfare.report.cost import Question, Report, Row
from trainfare.report.opened import Opened

MILLION = 10**6
ALL: tuple[Any, ...] = ()
"""The group of everything."""
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Figure:
    """One figure of a metric. `value` is top / bottom; without a bottom it is null, and `why` says so."""

    metric: str
    group: dict[str, Any]
    of: str
    top: Decimal | None
    bottom: Fraction | None
    unit: str
    why: str = ""

    @property
    def value(self) -> Decimal | None:
        """To a millionth, half away from zero."""
        return None if self.top is None or not self.bottom else rounded(Fraction(self.top) / self.bottom)

    def record(self, names: list[str]) -> dict[str, Any]:
        """The figure as one flat row; what has no group has null there."""
        told = {name: self.group.get(name) for name in names}
        below = None if self.bottom is None else rounded(self.bottom)
        values = {"top": self.top, "bottom": below, "value": self.value, "unit": self.unit, "why": self.why or None}
        return {"metric": self.metric, **told, "of": self.of or None, **values}


@dataclass(frozen=True)
class Asked:
    """What metrics are asked of: opened books, and a question that has the groups and the cost."""

    opened: Opened
    question: Question
    answers: dict[str, Report] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [keys.shown(key) for key in self.question.by]

    @property
    def currency(self) -> str:
        return self.question.currency

    def report(self, **other: Any) -> Report:
        """The cost report of this question, or of one that differs in these; each is made once."""
        question = replace(self.question, **other)
        if str(question) not in self.answers:
            self.answers[str(question)] = cost.report(self.opened, question)
        return self.answers[str(question)]

    def rows(self, **other: Any) -> dict[Key, Row]:
        return {tuple(row.group.values()): row for row in self.report(**other).rows}

    def sums(self, table: str, amount: str, where: str = "true", of: str = "''") -> dict[Key, dict[Any, Any]]:
        """Per group, and within it per `of`, the sum of an amount over a table whose rows are of attempts."""
        groups = "".join(f", {keys.of_attempt(key)} AS k{n}" for n, key in enumerate(self.question.by))
        found: dict[Key, dict[Any, Any]] = {}
        for total, within, *key in self.opened.engine.rows(
            f"SELECT sum({amount}), {of}{groups} FROM (SELECT * FROM {table} WHERE {where}) t "
            "LEFT JOIN attempts a ON a.job_id = t.job_id AND a.attempt = t.attempt GROUP BY ALL ORDER BY 2 NULLS LAST"
        ):
            found.setdefault(tuple(key), {})[within] = total
        return found

    def group(self, key: Key) -> dict[str, Any]:
        return dict(zip(self.names, key, strict=True))


def rounded(value: Fraction) -> Decimal:
    """To a millionth, half away from zero."""
    size = (abs(value) * 2 * MILLION + 1) // 2
    return Decimal(size if value >= 0 else -size).scaleb(-6)


def hours(seconds: int | Decimal | None) -> Fraction | None:
    return None if seconds is None else Fraction(seconds) / 3600


def billed_hours(row: Row | None) -> Fraction | None:
    """Wall-clock hours of a group that the bill covers."""
    return hours(row.wall_seconds - row.unbilled_wall_seconds) if row else None


def billed_gpu_hours(row: Row | None) -> Fraction | None:
    if row is None or row.gpu_seconds is None or row.unbilled_gpu_seconds is None:
        return None
    return hours(row.gpu_seconds - row.unbilled_gpu_seconds)
