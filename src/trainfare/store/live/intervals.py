"""Keep intervals up to date: what is no longer so is superseded, what is new is added, and the rest stays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, or_, select, update

_OWN = ("id", "recorded_at", "superseded_at")
_CHUNK = 500


def columns(table: Table) -> list[str]:
    """The columns that an interval consists of."""
    return [column.name for column in table.columns if column.name not in _OWN]


def current(connection: Connection, table: Table) -> list[dict[str, Any]]:
    """The intervals that hold as far as is known now."""
    rows = connection.execute(select(table).where(table.c.superseded_at.is_(None))).mappings()
    return [{name: row[name] for name in columns(table)} for row in rows]


def replace(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]], now: int) -> int:
    """Let these intervals, each once, be all that hold from now on; return how many were added or superseded."""
    names = columns(table)
    wanted = {tuple(row[name] for name in names) for row in rows}
    found = connection.execute(select(table).where(table.c.superseded_at.is_(None))).mappings()
    known = {tuple(row[name] for name in names): row["id"] for row in found}
    gone = [number for key, number in known.items() if key not in wanted]
    for chunk in _chunks(gone):
        connection.execute(update(table).where(table.c.id.in_(chunk)).values(superseded_at=now))
    added = [
        dict(zip(names, key, strict=True)) | {"recorded_at": now} for key in sorted(wanted - known.keys(), key=repr)
    ]
    for chunk in _chunks(added):
        connection.execute(insert(table), chunk)
    return len(gone) + len(added)


def forget(connection: Connection, table: Table, before: int, superseded_before: int) -> None:
    """Remove intervals that ended, or were superseded, before anything that is still shown."""
    is_old = or_(table.c.ends <= before, table.c.superseded_at < superseded_before)
    connection.execute(delete(table).where(is_old))


def upsert(
    connection: Connection, table: Table, key: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> dict[Any, int]:
    """Add or update rows by key, and return the id of every row of the table by its key."""
    names = [column.name for column in table.columns if column.name != "id"]
    found = connection.execute(select(table)).mappings().all()
    known = {tuple(row[name] for name in key): row for row in found}
    ids = {one: int(row["id"]) for one, row in known.items()}
    last = max(ids.values(), default=0)
    added = []
    for row in rows:
        one = tuple(row[name] for name in key)
        if one not in ids:
            last += 1
            ids[one] = last
            added.append({"id": last} | {name: row[name] for name in names})
        elif one in known and any(known[one][name] != row[name] for name in names):
            values = {name: row[name] for name in names}
            connection.execute(update(table).where(table.c.id == ids[one]).values(values))
    for chunk in _chunks(added):
        connection.execute(insert(table), chunk)
    return ids


def _chunks(items: Sequence[Any]) -> Iterable[list[Any]]:
    return ([*items[start : start + _CHUNK]] for start in range(0, len(items), _CHUNK))
