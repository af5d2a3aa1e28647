"""Unallocated cost by service, resource and tag, down to bill lines, and the settings that would allocate it."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.query import groups, keys
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import NONE, has_value

UNTAGGED = "(no tags)"
KEYS = {"service": "service", "resource_id": "resource_id", "reason": "reason", "account": "account"}
"""What unallocated cost is grouped by, besides tags, and the column of each."""
MOST_GROUPS, MOST_LINES = 200, 150

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Part:
    """What to show of unallocated cost: of one service, resource or tag (`key=value`); empty: of all."""

    service: str = ""
    resource_id: str = ""
    tag: str = ""

    @property
    def condition(self) -> str:
        values = {"service": self.service, "resource_id": self.resource_id}
        found = [has_value(f"u.{name}", [value]) for name, value in values.items() if value]
        return " AND ".join(["true", *found, *self._tagged])

    @property
    def _tagged(self) -> list[str]:
        if not self.tag:
            return []
        if self.tag == UNTAGGED:
            return [f"NOT {_HAS_TAGS}"]
        return [f"{_HAS_TAGS} AND list_contains({_TAGS}, {quoted(self.tag)})"]


_HAS_TAGS = "coalesce(json_valid(u.tags) AND len(json_keys(u.tags)) > 0, false)"
_TAGS = "list_transform(json_keys(u.tags), lambda k: k || '=' || coalesce(json_extract_string(u.tags, '$.\"' || k || '\"'), ''))"


@dataclass(frozen=True)
class Unallocated:
    """Unallocated cost of one month. `groups` has rows of value, cost and lines for each of `KEYS` and for tags."""

    cost: Decimal = Decimal(0)
    count: int = 0
    groups: dict[str, Rows] = field(default_factory=dict)
    lines: Rows = field(default_factory=list)


def selected_unallocated(opened: OpenBooks, question: Question) -> list[tuple[Any, ...]]:
    """Return what the selected unallocated shares state: reason, machine, day, source, origin, account, rule and
    category.
    """
    shares = groups.selected_shares(opened, question.selection, ["machine", "payer", *keys.CHARGE_KEYS])
    found = opened.engine.rows(
        "SELECT DISTINCT s.reason, x.resource_id, s.day, s.source, s.origin, s.account, s.rule, s.category "
        f"FROM {shares} WHERE s.payer_kind = 'unallocated'"
    )
    return [tuple(row) for row in found]


def unallocated(engine: DuckDB, basis: str, currency: str, part: Part) -> Unallocated:
    """Add up the table `unallocated_lines` that `allocate.lineage` made."""
    rows = f"FROM unallocated_lines u WHERE u.currency = {quoted(currency)} AND {part.condition}"
    cost, count = engine.row(f"SELECT coalesce(sum(u.{basis}), 0), count(u.line) {rows}")
    found = {
        name: engine.records(
            f"SELECT coalesce({column}, {quoted(NONE)}) AS value, sum(u.{basis}) AS cost, count(u.line) AS lines {rows} "
            f"GROUP BY ALL ORDER BY abs(cost) DESC, value LIMIT {MOST_GROUPS}"
        )
        for name, column in KEYS.items()
    }
    tagged = f"CASE WHEN {_HAS_TAGS} THEN {_TAGS} ELSE [{quoted(UNTAGGED)}] END"
    found["tag"] = engine.records(
        f"SELECT value, sum(cost) AS cost, count(line) AS lines FROM (SELECT unnest({tagged}) AS value, "
        f"u.{basis} AS cost, u.line {rows}) GROUP BY ALL ORDER BY abs(sum(cost)) DESC, value LIMIT {MOST_GROUPS}"
    )
    file_line = "abs(u.line) // d.lines_per_row + d.header_lines AS file_line"
    lines = engine.records(
        f"SELECT u.delivery, u.line, d.path AS file, {file_line}, u.period_start, u.period_end, u.day, u.reason, "
        "u.category, u.rule, u.service, u.resource_id, u.tags, u.description, "
        f"u.line_{basis} AS line_amount, u.{basis} AS cost "
        f"FROM (SELECT u.* {rows}) u JOIN delivered_files d ON d.delivery = u.delivery "
        f"ORDER BY abs(u.{basis}) DESC, u.delivery, u.line LIMIT {MOST_LINES}"
    )
    return Unallocated(cost, count, found, lines)


def fixes(opened: OpenBooks) -> str:
    """Return the settings that would allocate most of the unallocated cost of one book; empty if none are known."""
    if "failure_modes" not in opened.books[0].files:
        return ""
    found = opened.engine.rows("SELECT DISTINCT fixes FROM failure_modes WHERE code = 'F1' AND fixes <> ''")
    return str(found[0][0]) if found else ""
