"""A metric's value: a numerator and a denominator, divided last."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.errors import TrainfareError
from trainfare.query import cost, groups, keys
from trainfare.query.cost import Question, Report, Row
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import has_value, in_days

MILLION = 10**6
SUMMED = ("usage", "egress")
"""Grains of attempts that are also kept as sums by labels and day."""
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
    answers: dict[str, Any] = field(default_factory=dict)
    """What was computed already, by question."""

    @property
    def names(self) -> list[str]:
        return [keys.display_name(key) for key in self.question.by]

    @property
    def currency(self) -> str:
        return self.question.currency

    def report(self) -> Report:
        """Return the whole cost report of this question."""
        if "report" not in self.answers:
            self.answers["report"] = cost.report(self.opened, self.question)
        found: Report = self.answers["report"]
        return found

    def listed(self, **changes: Any) -> list[Row]:
        """Return the groups of this question with these changes."""
        question = replace(self.question, **changes)
        if question == self.question:
            return self.report().rows
        if str(question) not in self.answers:
            self.answers[str(question)] = cost.rows(self.opened, question, question.by)
        found: list[Row] = self.answers[str(question)]
        return found

    def rows(self, **changes: Any) -> dict[Key, Row]:
        return {tuple(row.group.values()): row for row in self.listed(**changes)}

    def sums(self, rows: str, amount: str, where: str = "true", detail: str = "''") -> dict[Key, dict[Any, Any]]:
        """Sum an amount of rows s per group, and within it per `detail`. `rows` is a FROM item with the keys joined."""
        named = "".join(f", {keys.attempt_sql(key)} AS k{n}" for n, key in enumerate(self.question.by))
        select = (
            f"SELECT sum(s.{amount}), {detail}{named} FROM {rows} WHERE {where} GROUP BY ALL HAVING count(*) > 0 "
            "ORDER BY 2 NULLS LAST"
        )
        if select not in self.answers:
            summed: dict[Key, dict[Any, Any]] = {}
            for total, within, *key in self.opened.engine.rows(select):
                summed.setdefault(tuple(key), {})[within] = total
            self.answers[select] = summed
        found: dict[Key, dict[Any, Any]] = self.answers[select]
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
        """Return a FROM item with the selected rows of a grain of attempts, or of their sums by labels and day."""
        grains, selection = self.opened.grains, self.question.selection
        named = [key for key in selection.filter_keys if key != "payer"]
        is_by_label = grain in SUMMED and all(
            groups.needed(key) in ("set", "day") for key in (*self.question.by, *named)
        )
        table = grains.table(f"{grain}_s" if is_by_label else grain)
        where = [*in_days(selection.days, "s.day"), *(self._matches(key, values) for key, values in selection.filters)]
        if not where:
            return f"{table} s{groups.joins(grains, self.question.by, 's')}"
        chosen = f"SELECT s.* FROM {table} s{groups.joins(grains, named, 's')} WHERE {' AND '.join(where)}"
        return f"({chosen}) s{groups.joins(grains, self.question.by, 's')}"

    def _matches(self, key: str, values: tuple[str, ...]) -> str:
        """Return a SQL condition on rows s of attempts; keys that only machines and charges have are an error."""
        if key == "payer":
            return "true" if "jobs" in values else "false"
        if key in (*keys.MACHINE_KEYS, *keys.CHARGE_KEYS):
            do = f"Select by one of {', '.join((*keys.JOB_KEYS, *keys.TIME_KEYS))}, or a label."
            raise TrainfareError("--where", f"not every metric has the key '{key}'", do)
        return has_value(keys.attempt_sql(key), values)

    @property
    def is_part(self) -> bool:
        """Return whether the question selects a part of the books: some days, or some cost."""
        return self.question.days is not None or bool(self.question.filters)

    @property
    def selected_jobs(self) -> str:
        """Return a SELECT of the ids of the jobs that held or paid for anything in the question."""
        selection = self.question.selection
        held = groups.selected_placements(self.opened, selection, ["job"])
        paid = groups.selected_shares(self.opened, selection, ["job"])
        return f"SELECT j.job_id FROM {held} UNION SELECT j.job_id FROM {paid} WHERE s.payer_kind = 'attempt'"

    def busy_cost(self) -> tuple[str, str]:
        """Return a FROM item with cost in s, and the condition that its attempt's busy GPU time was measured."""
        by, selection = self.question.by, self.question.selection
        of_attempts = "s.payer_kind = 'attempt' AND s.in_wall"
        if groups.has_keys(groups.BUSY_COST, (*by, *selection.filter_keys)):
            return groups.selected_shares(self.opened, selection, by, True, groups.BUSY_COST), of_attempts
        grains = self.opened.grains
        usage = f"{grains.table('usage')} s{groups.joins(grains, ['attempt'], 's')}"
        measured = f"(SELECT s.job, t.attempt FROM {usage} WHERE s.measure = 'gpu_busy_seconds')"
        return self.shares("attempt", with_rates=True), f"{of_attempts} AND (s.job, t.attempt) IN {measured}"

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
