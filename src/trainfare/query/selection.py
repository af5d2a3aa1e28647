"""The part of the open books that a question covers: which cost, which days, whose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from trainfare.engine.duckdb import quoted
from trainfare.query import keys
from trainfare.tables import BASES, NOT_INFRASTRUCTURE

NONE = "(none)"
"""The value of a key that is unknown: a job without that label, or a payer that is not a job."""
PAYER_KINDS = {"jobs": "'attempt', 'label'", "idle": "'idle'", "unallocated": "'unallocated'", "outside": "'outside'"}
"""Groups of payers that users choose from, and the payer kinds in each, as a SQL list."""

LOST_STATES = ("failed", "preempted", "timeout", "node_failed", "requeued")
"""States of attempts that did not finish their work."""
BOOK_PLACEMENTS = "book_placements"

Filters = tuple[tuple[str, tuple[str, ...]], ...]
"""Keys with the values to keep."""


@dataclass(frozen=True)
class TableSet:
    """Where cost and time are read from: two FROM items, and how to join labels a and machines m to either."""

    shares: str
    placements: str
    label_join: str
    machine_join: str

    def join(self, table: str, requested: Iterable[str]) -> str:
        """Return SQL that joins the tables with these keys to a table of cost or time."""
        joins = self.label_join if any(keys.is_attempt_label(key) for key in requested) else ""
        joins += self.machine_join if any(key in keys.MACHINE_GROUP_KEYS for key in requested) else ""
        return joins.format(table)


BOOK_TABLES = TableSet(
    "shares",
    BOOK_PLACEMENTS,
    " LEFT JOIN attempts a ON a.job_id = {0}.job_id AND a.attempt = {0}.attempt",
    " LEFT JOIN machines m ON m.resource_id = {0}.resource_id",
)
"""The tables of books, with names."""
DIGEST_TABLES = TableSet(
    f"""(SELECT s.job AS job_id, s."set", s.machine, m.machine_id,
  coalesce(p.payer_kind, 'attempt') AS payer_kind, p.payer, p.reason,
  DATE '1970-01-01' + s.day AS day, w.category, w.rule, w.source, w.origin, w.account, w.currency, {", ".join(BASES)}
FROM digest_shares s
JOIN digest_share_kinds w ON w.share_kind = s.share_kind
LEFT JOIN digest_payers p ON p.payer_key = s.payer_key
LEFT JOIN digest_machines m ON m.machine = s.machine)""",
    """(SELECT h.job AS job_id, h."set", h.machine, coalesce(m.machine_id, h.unknown_machine) AS machine_id,
  h.starts, h.ends, h.gpu_micros, h.billed_starts, h.billed_ends
FROM digest_placements h
LEFT JOIN digest_machines m ON m.machine = h.machine)""",
    ' LEFT JOIN digest_sets a ON a."set" = {0}."set"',
    " LEFT JOIN digest_machines m ON m.machine = {0}.machine",
)
"""The digest of one book: a job is a number, attempts are not distinguished, and machines and labels are joined by
number, which takes a tenth of the time.
"""


@dataclass(frozen=True)
class Selection:
    """Cost in one currency; `days` are UTC and half-open; `filters` keep what has one of the values of each key.

    `held` is a FROM item with the placements that hours are counted from, and `tables` says how to join to them.
    """

    currency: str
    scope: str = "full"
    days: tuple[date, date] | None = None
    filters: Filters = ()
    held: str = BOOK_PLACEMENTS
    tables: TableSet = BOOK_TABLES

    @property
    def money(self) -> str:
        """Return the SQL condition on currency and scope, which all rows of cost must meet.

        Days and keys are ignored.
        """
        return self._money("")

    @property
    def shares(self) -> str:
        """Return a FROM item: the shares of this selection."""
        where = [self._money("s.")]
        if self.days:
            where.append(f"s.day >= DATE '{self.days[0]}' AND s.day < DATE '{self.days[1]}'")
        where += [share_matches(key, values) for key, values in self.filters]
        return f"(SELECT s.* FROM {self.tables.shares} s{self._joins('s')} WHERE {' AND '.join(where)})"

    @property
    def placements(self) -> str:
        """Return a FROM item: what was held, cut to the days. Keys that only charges have do not narrow it."""
        held = [(key, values) for key, values in self.filters if keys.placement_sql(key) and key != "payer"]
        conditions = [has_value(str(keys.placement_sql(key)), values) for key, values in held]
        columns = "h.*"
        if self.days:
            first, last = (int(datetime(d.year, d.month, d.day, tzinfo=UTC).timestamp()) for d in self.days)
            conditions.append(f"h.starts < {last} AND h.ends > {first}")
            columns = (
                f"h.* REPLACE (greatest(h.starts, {first}) AS starts, least(h.ends, {last}) AS ends, "
                f"CASE WHEN h.billed_starts IS NOT NULL THEN greatest(h.billed_starts, {first}) END AS billed_starts, "
                f"CASE WHEN h.billed_ends IS NOT NULL THEN least(h.billed_ends, {last}) END AS billed_ends)"
            )
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"(SELECT {columns} FROM {self.held} h{self._joins('h')}{where})"

    def _money(self, table: str) -> str:
        condition = f"{table}currency = {quoted(self.currency)}"
        if self.scope == "infra":
            condition += f" AND {table}category NOT IN ({', '.join(quoted(name) for name in NOT_INFRASTRUCTURE)})"
        return condition

    def _joins(self, table: str) -> str:
        return self.tables.join(table, [key for key, _ in self.filters])


def share_matches(key: str, values: Sequence[str]) -> str:
    """Return a SQL condition: a share s has one of these values of a key."""
    if key == "payer":
        return f"s.payer_kind IN ({', '.join(PAYER_KINDS[value] for value in values)})"
    return has_value(keys.share_sql(key), values)


def has_value(sql: str, values: Sequence[str]) -> str:
    """Return a SQL condition: an expression has one of these values; `(none)` stands for null."""
    listed = [quoted(value) for value in values if value != NONE]
    parts = [f"CAST({sql} AS VARCHAR) IN ({', '.join(listed)})"] if listed else []
    parts += [f"{sql} IS NULL"] if NONE in values else []
    return f"({' OR '.join(parts)})"
