"""A metric's value: a numerator and a denominator, divided last."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.query import cost, groups, keys
from trainfare.query.cost import Question, Report, Row
from trainfare.query.open_books import OpenBooks

MILLION = 10**6
Key = tuple[Any, ...]


@dataclass(frozen=True)
class MetricValue:
    """One value of a metric for one group. `value` is numerator / denominator; without a denominator it is null.

    `detail` names what the value covers within the group, such as a pair of regions; `note` says why there is no
    value, or what limits it.
    """

    metric: str
    group: dict[str, Any]
    detail: str
    numerator: Decimal | None
    denominator: Fraction | None
    unit: str
    note: str = ""

    @property
    def value(self) -> Decimal | None:
        """Divide, rounded to a millionth, half away from zero."""
        if self.numerator is None or not self.denominator:
            return None
        return rounded(Fraction(self.numerator) / self.denominator)

    def record(self, names: list[str]) -> dict[str, Any]:
        """Return the value as one flat row; a key that the group does not have is null."""
        return {
            "metric": self.metric,
            **{name: self.group.get(name) for name in names},
            "detail": self.detail or None,
            "numerator": self.numerator,
            "denominator": None if self.denominator is None else rounded(self.denominator),
            "value": self.value,
            "unit": self.unit,
            "note": self.note or None,
        }


@dataclass(frozen=True)
class MetricQuery:
    """The open books that metrics are computed from, and a question with the groups and the cost basis."""

    opened: OpenBooks
    question: Question
    reports: dict[str, Report] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [keys.display_name(key) for key in self.question.by]

    @property
    def currency(self) -> str:
        return self.question.currency

    def report(self, **changes: Any) -> Report:
        """Return the cost report of this question with these changes; each report is computed once."""
        question = replace(self.question, **changes)
        if str(question) not in self.reports:
            self.reports[str(question)] = cost.report(self.opened, question)
        return self.reports[str(question)]

    def rows(self, **changes: Any) -> dict[Key, Row]:
        return {tuple(row.group.values()): row for row in self.report(**changes).rows}

    def sums(self, rows: str, amount: str, where: str = "true", detail: str = "''") -> dict[Key, dict[Any, Any]]:
        """Sum an amount of rows s per group, and within it per `detail`. `rows` is a FROM item with the keys joined."""
        named = "".join(f", {keys.attempt_sql(key)} AS k{n}" for n, key in enumerate(self.question.by))
        found: dict[Key, dict[Any, Any]] = {}
        for total, within, *key in self.opened.engine.rows(
            f"SELECT sum(s.{amount}), {detail}{named} FROM {rows} WHERE {where} GROUP BY ALL HAVING count(*) > 0 "
            "ORDER BY 2 NULLS LAST"
        ):
            found.setdefault(tuple(key), {})[within] = total
        return found

    def shares(self, *more: str, currency_only: bool = False, with_rates: bool = False) -> str:
        """Return a FROM item with the cost of the question in s; `more` are keys of charges that are needed.

        With `with_rates`, add a condition on `s.in_wall`: it includes what counts in rates of these days only.
        """
        for key in self.question.by:
            keys.attempt_sql(key)
        selection = self.question.selection
        if currency_only:
            selection = replace(selection, scope="full")
        return groups.selected_shares(self.opened, selection, [*self.question.by, *more], with_rates)

    def measured(self, grain: str) -> str:
        """Return a FROM item with the rows of a grain that has attempts."""
        grains = self.opened.grains
        return f"{grains.table(grain)} s{groups.joins(grains, self.question.by, 's')}"

    def measured_in_full(self, grain: str) -> str:
        """Return a FROM item with the rows of a grain that has attempts, of the days that are billed in full.

        Rates divide cost by the hours of these days; whatever is measured on others has no part in them.
        """
        grains = self.opened.grains
        rows = (
            f"(SELECT x.* FROM {grains.table(grain)} x "
            f"JOIN {grains.table('attempts')} h ON {grains.same('h', 'x', 'attempt_key')} "
            f"LEFT JOIN {grains.table('incomplete')} i ON {grains.same('i', 'x', 'attempt_key')} "
            f"AND i.day = x.day - DATE '1970-01-01' AND i.currency = {quoted(self.currency)} "
            "WHERE i.attempt_key IS NULL AND x.day - DATE '1970-01-01' <= h.last_day)"
        )
        return f"{rows} s{groups.joins(grains, self.question.by, 's')}"

    def group(self, key: Key) -> dict[str, Any]:
        return dict(zip(self.names, key, strict=True))


def rounded(value: Fraction) -> Decimal:
    """Round to a millionth, half away from zero."""
    size = (abs(value) * 2 * MILLION + 1) // 2
    return Decimal(size if value >= 0 else -size).scaleb(-6)


def hours(seconds: int | Decimal | None) -> Fraction | None:
    return None if seconds is None else Fraction(seconds) / 3600


NO_DAY_IN_FULL = "no day of it is billed in full"


def why_no_rate(row: Row | None) -> str:
    """Return why a group has no rate per wall-clock hour, with the lower bound that is known."""
    if row is None or row.at_least is None:
        return NO_DAY_IN_FULL
    part = "" if row.billed_part is None else f", {row.billed_part:.1%} of its GPU hours are billed"
    return f"{NO_DAY_IN_FULL}: at least {row.at_least:f} per hour{part}"


def billed_hours(row: Row | None) -> Fraction | None:
    """Return the wall-clock hours of a group on days that are billed in full."""
    return hours(row.wall_seconds - row.unbilled_wall_seconds) if row else None


def billed_gpu_hours(row: Row | None) -> Fraction | None:
    """Return the GPU hours of a group that the bill covers; None if its number of GPUs is unknown."""
    if row is None or row.gpu_seconds is None or row.unbilled_gpu_seconds is None:
        return None
    return hours(row.gpu_seconds - row.unbilled_gpu_seconds)
