"""The part of the open books that a question covers: which cost, which days, whose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.query import keys
from trainfare.settings.scope import Condition
from trainfare.tables import NOT_INFRASTRUCTURE

NONE = "(none)"
"""The value of a key that is unknown: a job without that label, or a payer that is not a job."""
PAYER_KINDS = {"jobs": "'attempt', 'label'", "idle": "'idle'", "unallocated": "'unallocated'", "outside": "'outside'"}
"""Groups of payers that users choose from, and the payer kinds in each, as a SQL list."""
PAYER_FILTERS = PAYER_KINDS | {"attempts": "'attempt'", "labels": "'label'"}
"""Values of the key `payer`: the groups, and the two kinds of payers among `jobs`."""

LOST_STATES = ("failed", "preempted", "timeout", "node_failed", "requeued")
"""States of attempts that did not finish their work."""

Filters = tuple[tuple[str, tuple[str, ...]], ...]
"""Keys with the values to keep."""


@dataclass(frozen=True)
class Selection:
    """Cost in one currency; `days` are UTC and half-open; `filters` keep what has one of the values of each key.

    `hours` is the choice of hours that count: all that were held, or their productive part.
    """

    currency: str
    scope: str = "full"
    days: tuple[date, date] | None = None
    filters: Filters = ()
    hours: str = "held"

    @property
    def money(self) -> str:
        """Return the SQL condition on currency and scope, for tables with a category. Days and keys are ignored."""
        condition = f"currency = {quoted(self.currency)}"
        if self.scope == "infra":
            condition += f" AND category NOT IN ({', '.join(quoted(name) for name in NOT_INFRASTRUCTURE)})"
        return condition

    def way_condition(self, table: str) -> str:
        """Return the SQL condition on currency and scope of a table with ways."""
        infrastructure = f" AND {table}.is_infrastructure" if self.scope == "infra" else ""
        return f"{table}.currency = {quoted(self.currency)}{infrastructure}"

    @property
    def filter_keys(self) -> list[str]:
        return [key for key, _ in self.filters]


def parse_filters(conditions: Iterable[Condition], engine: DuckDB, where: str) -> Filters:
    """Return conditions with the keys by which cost can be filtered; an unknown key or payer is an error."""
    found = []
    for key, values in conditions:
        if key == "payer":
            if unknown := [value for value in values if value not in PAYER_KINDS]:
                raise TrainfareError(
                    where, f"there is no payer '{unknown[0]}'", f"Use one of {', '.join(PAYER_KINDS)}."
                )
            found.append((key, values))
        else:
            (known,) = keys.parse([key], engine, where)
            found.append((known, values))
    return tuple(found)


def in_days(days: tuple[date, date] | None, day: str) -> list[str]:
    """Return SQL conditions: a day lies in the window."""
    return [f"{day} >= DATE '{days[0]}' AND {day} < DATE '{days[1]}'"] if days else []


def share_matches(key: str, values: Sequence[str]) -> str:
    """Return a SQL condition: cost s has one of these values of a key."""
    if key == "payer":
        return f"s.payer_kind IN ({', '.join(PAYER_FILTERS[value] for value in values)})"
    return has_value(keys.share_sql(key), values)


def has_value(sql: str, values: Sequence[str]) -> str:
    """Return a SQL condition: an expression has one of these values; `(none)` stands for null."""
    listed = [quoted(value) for value in values if value != NONE]
    parts = [f"CAST({sql} AS VARCHAR) IN ({', '.join(listed)})"] if listed else []
    parts += [f"{sql} IS NULL"] if NONE in values else []
    return f"({' OR '.join(parts)})"
