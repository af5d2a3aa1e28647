"""The part of the opened books that is asked about: which money, which days, whose."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from trainfare.engine.duckdb import quoted
from trainfare.report import keys
from trainfare.tables import NOT_INFRASTRUCTURE

NONE = "(none)"
"""Stands for a key that is not known: a job without that label, or a payer that is no job."""
KINDS = {"jobs": "'attempt', 'label'", "idle": "'idle'", "unallocated": "'unallocated'", "outside": "'outside'"}
"""Who pays, as people ask for it, and the payer kinds that are it."""

LOST = ("failed", "preempted", "timeout", "node_failed", "requeued")
"""States of attempts whose work did not come to its end."""
HELD = "book_placements"

Only = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Slice:
    """Money of one currency; `days` are UTC and half-open; `only` keeps what has one of the values of each key; `held` is a
    FROM item with the placements that hours are counted from.
    """

    currency: str
    scope: str = "full"
    days: tuple[date, date] | None = None
    only: Only = ()
    held: str = HELD

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
        return f"(SELECT s.* FROM shares s{self._joins('s', keys.OF_CHARGE)} WHERE {' AND '.join(where)})"

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
        return f"(SELECT {columns} FROM {self.held} h{self._joins('h', keys.OF_CHARGE)}{where})"

    def _money(self, table: str) -> str:
        told = f"{table}currency = {quoted(self.currency)}"
        if self.scope == "infra":
            told += f" AND {table}category NOT IN ({', '.join(quoted(name) for name in NOT_INFRASTRUCTURE)})"
        return told

    def _joins(self, table: str, own: Sequence[str]) -> str:
        """The tables that the keys asked for are in."""
        asked = {key for key, _ in self.only} - {*own, "payer", "day"}
        joins = ""
        if any(key not in keys.OF_MACHINE for key in asked):
            joins += f" LEFT JOIN attempts a ON a.job_id = {table}.job_id AND a.attempt = {table}.attempt"
        if any(key in keys.OF_MACHINE for key in asked):
            joins += f" LEFT JOIN machines m ON m.resource_id = {table}.resource_id"
        return joins


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
