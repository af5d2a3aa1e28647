"""The part of the opened books that is asked about: which money, which days, whose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from trainfare.engine.duckdb import quoted
from trainfare.report import keys
from trainfare.tables import BASES, NOT_INFRASTRUCTURE

NONE = "(none)"
"""Stands for a key that is not known: a job without that label, or a payer that is no job."""
KINDS = {"jobs": "'attempt', 'label'", "idle": "'idle'", "unallocated": "'unallocated'", "outside": "'outside'"}
"""Who pays, as people ask for it, and the payer kinds that are it."""

LOST = ("failed", "preempted", "timeout", "node_failed", "requeued")
"""States of attempts whose work did not come to its end."""
HELD = "book_placements"

Only = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Origin:
    """Where money and time are read from: FROM items of both, and how labels a and machines m are joined to a table of either."""

    shares: str
    held: str
    labels: str
    machines: str

    def joined(self, table: str, asked: Iterable[str]) -> str:
        """SQL that joins the tables that these keys are in to one of money or time."""
        joins = self.labels if any(keys.is_of_job(key) for key in asked) else ""
        joins += self.machines if any(key in keys.OF_SITE for key in asked) else ""
        return joins.format(table)


NAMED = Origin(
    "shares",
    HELD,
    " LEFT JOIN attempts a ON a.job_id = {0}.job_id AND a.attempt = {0}.attempt",
    " LEFT JOIN machines m ON m.resource_id = {0}.resource_id",
)
"""The tables of books, with names."""
NUMBERED = Origin(
    f"""(SELECT s.job AS job_id, s."set", s.machine, m.machine_id, coalesce(p.payer_kind, 'attempt') AS payer_kind, p.payer, p.reason,
  DATE '1970-01-01' + s.day AS day, w.category, w.rule, w.source, w.origin, w.account, w.currency, {", ".join(BASES)}
FROM digest_shares s
JOIN digest_ways w ON w.way = s.way
LEFT JOIN digest_payers p ON p.payer_key = s.payer_key
LEFT JOIN digest_machines m ON m.machine = s.machine)""",
    """(SELECT h.job AS job_id, h."set", h.machine, coalesce(m.machine_id, h.unknown_machine) AS machine_id, h.starts, h.ends, h.gpu_micros,
  h.billed_starts, h.billed_ends
FROM digest_placements h
LEFT JOIN digest_machines m ON m.machine = h.machine)""",
    ' LEFT JOIN digest_sets a ON a."set" = {0}."set"',
    " LEFT JOIN digest_machines m ON m.machine = {0}.machine",
)
"""The digest of one book: a job is its number, attempts are not told apart, and machines and labels are joined by number, which
takes a tenth of the time.
"""


@dataclass(frozen=True)
class Slice:
    """Money of one currency; `days` are UTC and half-open; `only` keeps what has one of the values of each key; `held` is a
    FROM item with the placements that hours are counted from, and `origin` says how to join to them.
    """

    currency: str
    scope: str = "full"
    days: tuple[date, date] | None = None
    only: Only = ()
    held: str = HELD
    origin: Origin = NAMED

    @property
    def money(self) -> str:
        """SQL for what all rows of money must be: in this currency and scope. Days and keys are not looked at."""
        return self._money("")

    @property
    def shares(self) -> str:
        """A FROM item: the shares of this slice."""
        where = [self._money("s.")]
        if self.days:
            where.append(f"s.day >= DATE '{self.days[0]}' AND s.day < DATE '{self.days[1]}'")
        where += [of_share(key, values) for key, values in self.only]
        return f"(SELECT s.* FROM {self.origin.shares} s{self._joins('s')} WHERE {' AND '.join(where)})"

    @property
    def placements(self) -> str:
        """A FROM item: what was held, cut to the days. Keys that only charges have do not touch it."""
        held = [(key, values) for key, values in self.only if keys.of_hold(key) and key != "payer"]
        told = [among(str(keys.of_hold(key)), values) for key, values in held]
        columns = "h.*"
        if self.days:
            first, last = (int(datetime(d.year, d.month, d.day, tzinfo=UTC).timestamp()) for d in self.days)
            told.append(f"h.starts < {last} AND h.ends > {first}")
            columns = (
                f"h.* REPLACE (greatest(h.starts, {first}) AS starts, least(h.ends, {last}) AS ends, "
                f"CASE WHEN h.billed_starts IS NOT NULL THEN greatest(h.billed_starts, {first}) END AS billed_starts, "
                f"CASE WHEN h.billed_ends IS NOT NULL THEN least(h.billed_ends, {last}) END AS billed_ends)"
            )
        where = f" WHERE {' AND '.join(told)}" if told else ""
        return f"(SELECT {columns} FROM {self.held} h{self._joins('h')}{where})"

    def _money(self, table: str) -> str:
        told = f"{table}currency = {quoted(self.currency)}"
        if self.scope == "infra":
            told += f" AND {table}category NOT IN ({', '.join(quoted(name) for name in NOT_INFRASTRUCTURE)})"
        return told

    def _joins(self, table: str) -> str:
        return self.origin.joined(table, [key for key, _ in self.only])


def of_share(key: str, values: Sequence[str]) -> str:
    """SQL for a share that has one of these values of a key."""
    if key == "payer":
        return f"s.payer_kind IN ({', '.join(KINDS[value] for value in values)})"
    return among(keys.of_share(key), values)


def among(sql: str, values: Sequence[str]) -> str:
    """SQL for having one of these values; `(none)` is having none."""
    told = [quoted(value) for value in values if value != NONE]
    parts = [f"CAST({sql} AS VARCHAR) IN ({', '.join(told)})"] if told else []
    parts += [f"{sql} IS NULL"] if NONE in values else []
    return f"({' OR '.join(parts)})"
