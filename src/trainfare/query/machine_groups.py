"""Machine groups: the pool, cluster, region and GPU model that machines share.

There are few, so a digest has sums per group. The tables of a digest call a machine group a site.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date

from trainfare.engine.duckdb import step_text
from trainfare.query import keys
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import Selection, has_value

PACKAGE = "trainfare.query"
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class DigestSelection:
    """SQL fragments that select days, machine groups and sets of labels of a digest."""

    first: str
    last: str
    first_second: str
    last_second: str
    money_in_days: str
    only_sites: str
    in_sets: str

    @property
    def fragments(self) -> dict[str, str]:
        return asdict(self)


def are_available(opened: OpenBooks) -> bool:
    """Return whether a digest has machine groups.

    It must be of one book, since a machine may change its group between two, and for a viewer who sees all machines.
    """
    return opened.by_machine and len(opened.books) == 1


def join(requested: Iterable[str], table: str) -> str:
    """Return SQL that joins machine groups m to a table with their number, if a requested key needs them."""
    is_needed = {*requested} & {*keys.MACHINE_GROUP_KEYS}
    return f" JOIN digest_sites m ON m.book = {table}.book AND m.site = {table}.site" if is_needed else ""


def hours_select(placements: str) -> str:
    """Return a SELECT of the hours of each job on each machine group, from a FROM item with placements."""
    fragments = {
        "placements": placements,
        "spans": "undivided",
        "hold_joins": "",
        "hold_keys": ", h.site",
        "held_names": ", site",
    }
    return step_text(PACKAGE, "group_hours", fragments)


def group_columns(by: Iterable[str]) -> str:
    """Return the columns of machine groups m that these keys group by."""
    return ", ".join(["m.book", *(f"m.{key}" for key in by if key in keys.MACHINE_GROUP_KEYS)])


def digest_selection(opened: OpenBooks, selection: Selection) -> DigestSelection:
    """Return the fragments for the days, machine groups and sets of labels of a selection."""
    first, last = (date.min, date.max) if opened.has_only(selection.days) else selection.days or (date.min, date.max)
    labels = [
        has_value(str(keys.placement_sql(key)), values)
        for key, values in selection.filters
        if key not in keys.MACHINE_GROUP_KEYS
    ]
    sets = f'j."set" IN (SELECT a."set" FROM digest_sets a WHERE {" AND ".join(labels)})'
    return DigestSelection(
        first=f"DATE '{first}'",
        last=f"DATE '{last}'",
        first_second=str((first - EPOCH).days * 86400),
        last_second=str((last - EPOCH).days * 86400),
        money_in_days=f"{selection.money} AND s.day >= DATE '{first}' AND s.day < DATE '{last}'",
        only_sites=machine_condition(selection),
        in_sets=sets if labels else "true",
    )


def machine_condition(selection: Selection) -> str:
    """Return a SQL condition: a machine group m, or a machine m, is in the selection."""
    filters = [(key, values) for key, values in selection.filters if key in keys.MACHINE_GROUP_KEYS]
    return " AND ".join(["true", *(has_value(f"m.{key}", values) for key, values in filters)])
