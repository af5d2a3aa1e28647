"""The catalog: which files are which version of what. Publishing is one transaction here, or nothing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, Table, func, insert, select, union

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.store import audit
from trainfare.store.access import Access
from trainfare.store.attention import Attention
from trainfare.store.audit import Audit
from trainfare.store.builds import Builds, require_not_given_up
from trainfare.store.database import Database
from trainfare.store.records import Book, Closing, Delivery, NewBook, NewDelivery, Total
from trainfare.store.schema import BOOK_DELIVERIES, BOOK_FILES, BOOK_TOTALS, BOOKS, CLOSINGS, DELIVERIES, IDENTITY


class Catalog:
    """What was delivered, what was published, what is closed. Rows are added, never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def access(self) -> Access:
        """Who may come in."""
        return Access(self._database)

    @property
    def audit(self) -> Audit:
        """Who changed what."""
        return Audit(self._database)

    @property
    def attention(self) -> Attention:
        """The lives of findings."""
        return Attention(self._database)

    @property
    def builds(self) -> Builds:
        """Which builds are running, on lakes that cannot tell."""
        return Builds(self._database)

    @classmethod
    def open(cls, url_or_path: str | Path) -> "Catalog":
        """Open a SQLite file or a PostgreSQL URL; make or update the schema where needed."""
        return cls(Database(url_or_path))

    def dispose(self) -> None:
        """Let go of all connections."""
        self._database.engine.dispose()

    @property
    def id(self) -> str:
        """What tells this catalog from every other one, wherever it is moved or copied to."""
        with self._database.read() as connection:
            return str(connection.execute(select(IDENTITY.c.catalog_id)).scalar_one())

    # Deliveries

    def add_deliveries(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Add all or none, and give them in the same order. One known already comes back as it was first added,
        with the archive it had then.
        """
        with self._database.write() as connection:
            known = [_find(connection, *_key(one)) for one in new]
            require_not_given_up(connection, [one.archive for one, found in zip(new, known, strict=True) if not found])
            return [_find(connection, *_key(one)) or _add(connection, one) for one in new]

    def find_delivery(self, source: str, content_sha256: str, settings_sha256: str) -> Delivery | None:
        with self._database.read() as connection:
            return _find(connection, source, content_sha256, settings_sha256)

    def deliveries(self, ids: Iterable[int]) -> list[Delivery]:
        """The deliveries of these ids, in the order of the ids."""
        wanted = select(DELIVERIES).where(DELIVERIES.c.id.in_(list(ids))).order_by(DELIVERIES.c.id)
        with self._database.read() as connection:
            return [Delivery(**row) for row in connection.execute(wanted).mappings()]

    # Books

    def publish(self, month: Month, expected_version: int | None, book: NewBook) -> Book:
        """Add the version after `expected_version` (none: the first) with all its parts, or nothing.

        Of two builds that started from the same version, exactly one is published.
        """
        _require_balance(month, book.totals)
        with self._database.write() as connection:
            require_not_given_up(connection, book.files.values())
            latest = _latest_version(connection, month)
            _require_still_open(connection, month)
            if latest != expected_version:
                what = f"another build published version {latest} while this one ran"
                raise IncompleteError(f"book {month}", what, "Run trainfare build again.")
            version = (latest or 0) + 1
            _insert_book(connection, month, version, book)
            told = {"month": str(month), "version": version, "inputs": book.inputs_sha256}
            audit.append(connection, audit.person(), "book published", told)
            return _books(connection, _newest_first(month).limit(1))[0]

    def latest(self, month: Month) -> Book | None:
        with self._database.read() as connection:
            found = _books(connection, _newest_first(month).limit(1))
        return found[0] if found else None

    def book(self, month: Month, version: int) -> Book:
        """One version of a month; if it is not there, the error lists those that are."""
        with self._database.read() as connection:
            found = _books(connection, _newest_first(month).where(BOOKS.c.version == version))
            if found:
                return found[0]
            latest = _latest_version(connection, month)
        if latest is None:
            raise _no_book(month)
        there = "There is only version 1." if latest == 1 else f"There are versions 1 to {latest}."
        raise TrainfareError(f"book {month}", f"there is no version {version}", there)

    def books(self) -> list[Book]:
        """Every version of every month, in this order."""
        with self._database.read() as connection:
            return _books(connection, _with_closing().order_by(BOOKS.c.month, BOOKS.c.version))

    def mark(self) -> tuple[int, int]:
        """Changes whenever a book is published or a month is closed; quick to ask."""
        published = select(
            func.coalesce(func.max(BOOKS.c.id), 0), select(func.count(CLOSINGS.c.month)).scalar_subquery()
        )
        with self._database.read() as connection:
            newest, closed = connection.execute(published).one()
        return newest, closed

    def months(self) -> list[Month]:
        """The months that have a book, in order."""
        with self._database.read() as connection:
            return list(connection.execute(select(BOOKS.c.month).distinct().order_by(BOOKS.c.month)).scalars())

    # Closings

    def close(self, month: Month, by: str, note: str, version: int | None = None) -> Closing:
        """Close a month with its latest version, if that is still the one that was looked at. It can be done once, and is never undone."""
        with self._database.write() as connection:
            book = connection.execute(_newest_first(month).limit(1)).mappings().first()
            if book is None:
                raise _no_book(month)
            if before := _closing(connection, month):
                on, version = f"{before.closed_at:%Y-%m-%d}", before.version
                what = f"it was closed on {on} by {before.closed_by}, with version {version}"
                raise TrainfareError(f"book {month}", what, _CLOSED_HELP)
            if version and version != book["version"]:
                what = f"version {book['version']} was published meanwhile"
                raise IncompleteError(f"book {month}", what, "Look at it, then close that one.")
            row = {"month": month, "book_id": book["id"], "closed_at": _now(), "closed_by": by, "note": note}
            connection.execute(insert(CLOSINGS), row)
            told = {"month": str(month), "version": book["version"], "note": note}
            audit.append(connection, by, "month closed", told)
            return Closing(month, book["version"], row["closed_at"], by, note)

    def closing(self, month: Month) -> Closing | None:
        with self._database.read() as connection:
            return _closing(connection, month)

    def closings(self) -> dict[Month, Closing]:
        """The closings of all months that are closed."""
        with self._database.read() as connection:
            return {row[0]: Closing(*row) for row in connection.execute(_closed())}

    def referenced_files(self) -> set[str]:
        """Every file of the lake that a book or a delivery names."""
        with self._database.read() as connection:
            return set(connection.execute(union(select(BOOK_FILES.c.path), select(DELIVERIES.c.archive))).scalars())


_CLOSED_HELP = "A closed month does not change; what comes later is an adjustment in the next open month."


def _now() -> datetime:
    return datetime.now(UTC)


def _no_book(month: Month) -> TrainfareError:
    return TrainfareError(f"book {month}", "this month has no book yet", f"Run: trainfare build --month {month}")


def _key(one: NewDelivery) -> tuple[str, str, str]:
    return one.source, one.content_sha256, one.settings_sha256


def _find(connection: Connection, source: str, content_sha256: str, settings_sha256: str) -> Delivery | None:
    wanted = select(DELIVERIES).where(
        DELIVERIES.c.source == source,
        DELIVERIES.c.content_sha256 == content_sha256,
        DELIVERIES.c.settings_sha256 == settings_sha256,
    )
    row = connection.execute(wanted).mappings().first()
    return Delivery(**row) if row else None


def _add(connection: Connection, one: NewDelivery) -> Delivery:
    values = asdict(one) | {"delivered_at": _now()}
    # A file name need not be UTF-8, but a text column must be.
    values["path"] = one.path.encode("utf-8", "backslashreplace").decode()
    row = connection.execute(insert(DELIVERIES).returning(DELIVERIES), values).mappings().one()
    return Delivery(**row)


def _require_balance(month: Month, totals: Iterable[Total]) -> None:
    """The last gate: whatever went wrong before, no book is published that lost or made money."""
    for total in totals:
        if total.charges != total.shares:
            what = (
                f"{total.basis} of {total.source} does not add up: "
                f"charges {total.charges:f} {total.currency}, shares {total.shares:f} {total.currency}"
            )
            do = "Nothing was published. This is a fault in Trainfare: report it."
            raise TrainfareError(f"book {month}", what, do)


def _require_still_open(connection: Connection, month: Month) -> None:
    if closing := _closing(connection, month):
        raise IncompleteError(f"book {month}", f"the month is closed, with version {closing.version}", _CLOSED_HELP)


def _latest_version(connection: Connection, month: Month) -> int | None:
    return connection.execute(select(func.max(BOOKS.c.version)).where(BOOKS.c.month == month)).scalar()


def _insert_book(connection: Connection, month: Month, version: int, book: NewBook) -> None:
    row = {
        "month": month,
        "version": version,
        "built_at": _now(),
        "engine": book.engine,
        "inputs_sha256": book.inputs_sha256,
        "complete_through": book.complete_through,
    }
    book_id = connection.execute(insert(BOOKS).returning(BOOKS.c.id), row).scalar_one()
    parts: dict[Table, list[dict[str, Any]]] = {
        BOOK_FILES: [{"table_name": name, "path": path, "rows": book.rows[name]} for name, path in book.files.items()],
        BOOK_TOTALS: [asdict(total) for total in book.totals],
        BOOK_DELIVERIES: [{"delivery_id": delivery} for delivery in book.deliveries],
    }
    for table, rows in parts.items():
        if rows:
            connection.execute(insert(table), [{"book_id": book_id, **each} for each in rows])


def _with_closing() -> Select[Any]:
    closed = CLOSINGS.c.book_id.is_not(None).label("closed")
    return select(BOOKS, closed).select_from(BOOKS.outerjoin(CLOSINGS, CLOSINGS.c.book_id == BOOKS.c.id))


def _newest_first(month: Month) -> Select[Any]:
    return _with_closing().where(BOOKS.c.month == month).order_by(BOOKS.c.version.desc())


def _books(connection: Connection, wanted: Select[Any]) -> list[Book]:
    heads = connection.execute(wanted).mappings().all()
    files = _parts(connection, BOOK_FILES, wanted)
    totals = _parts(connection, BOOK_TOTALS, wanted)
    deliveries = _parts(connection, BOOK_DELIVERIES, wanted)
    return [
        Book(
            **head,
            files={row["table_name"]: row["path"] for row in files[head["id"]]},
            rows={row["table_name"]: row["rows"] for row in files[head["id"]]},
            totals=tuple(
                Total(row["source"], row["currency"], row["basis"], row["charges"], row["shares"])
                for row in totals[head["id"]]
            ),
            deliveries=tuple(row["delivery_id"] for row in deliveries[head["id"]]),
        )
        for head in heads
    ]


def _parts(connection: Connection, table: Table, wanted: Select[Any]) -> dict[int, list[RowMapping]]:
    """Rows of a table by the wanted book they belong to, in the order of their key."""
    ids = wanted.with_only_columns(BOOKS.c.id)
    rows = connection.execute(select(table).where(table.c.book_id.in_(ids)).order_by(*table.primary_key))
    found: dict[int, list[RowMapping]] = defaultdict(list)
    for row in rows.mappings():
        found[row["book_id"]].append(row)
    return found


def _closed() -> Select[Any]:
    columns = (CLOSINGS.c.month, BOOKS.c.version, CLOSINGS.c.closed_at, CLOSINGS.c.closed_by, CLOSINGS.c.note)
    return select(*columns).join(BOOKS, CLOSINGS.c.book_id == BOOKS.c.id)


def _closing(connection: Connection, month: Month) -> Closing | None:
    row = connection.execute(_closed().where(CLOSINGS.c.month == month)).first()
    return Closing(*row) if row else None
