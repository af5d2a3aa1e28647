"""The catalog: which files are which version of which month. Publishing is one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Select, Table, func, insert, inspect, select, union, update

from trainfare.errors import DamagedError, IncompleteError, Problems, TrainfareError
from trainfare.files.digests import Digest
from trainfare.period import Month
from trainfare.store import audit, checked_rows, checksums, closings, delivery_rows
from trainfare.store.access import Access
from trainfare.store.audit import Audit
from trainfare.store.builds import Builds, require_not_abandoned
from trainfare.store.database import Database
from trainfare.store.findings import FindingLog
from trainfare.store.grain_files import GrainFiles
from trainfare.store.label_overrides import LabelOverrides
from trainfare.store.rate_limits import RateLimits
from trainfare.store.recordings.catalog import Recordings
from trainfare.store.records import Book, Checksum, Closing, Delivery, MigratedFiles, NewBook, NewDelivery, Total
from trainfare.store.schema import (
    AUDIT,
    BOOK_DELIVERIES,
    BOOK_FILES,
    BOOK_TOTALS,
    BOOKS,
    CLOSINGS,
    DELIVERIES,
    IDENTITY,
)


class Catalog:
    """Deliveries, published books and closings. Rows are added, never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def access(self) -> Access:
        """Users, tokens and sessions."""
        return Access(self._database)

    @property
    def audit(self) -> Audit:
        """The audit log."""
        return Audit(self._database)

    @property
    def finding_log(self) -> FindingLog:
        """Which book showed which finding, and which findings were accepted."""
        return FindingLog(self._database)

    @property
    def grain_files(self) -> GrainFiles:
        """The files of grains, with their digests."""
        return GrainFiles(self._database)

    @property
    def label_overrides(self) -> LabelOverrides:
        """Labels that people gave to jobs afterwards."""
        return LabelOverrides(self._database)

    @property
    def builds(self) -> Builds:
        """The running builds, for lakes that cannot track them."""
        return Builds(self._database)

    @property
    def recordings(self) -> Recordings:
        """What collectors observed, with their cursors."""
        return Recordings(self._database)

    @cached_property
    def rate_limits(self) -> RateLimits:
        """What clients of the service used lately."""
        return RateLimits(self._database)

    @classmethod
    def open(cls, url_or_path: str | Path) -> "Catalog":
        """Open a SQLite file or a PostgreSQL URL; create or update the schema if needed."""
        return cls(Database(url_or_path))

    @property
    def where(self) -> str:
        """The file or server of the catalog, without secrets."""
        return self._database.where

    @property
    def url(self) -> URL:
        """The address of the database, secrets included."""
        return self._database.engine.url

    def has_table(self, name: str) -> bool:
        """Whether the database has a table of this name, of the catalog or not."""
        with self._database.read() as connection:
            return inspect(connection).has_table(name)

    def require_writable(self) -> None:
        """Raise an error if this user may only read the catalog."""
        self._database.require_writable()

    def dispose(self) -> None:
        """Close all connections."""
        self._database.engine.dispose()

    @property
    def id(self) -> str:
        """The unique id of this catalog, which it keeps when it is moved or copied."""
        with self._database.read() as connection:
            return str(connection.execute(select(IDENTITY.c.catalog_id)).scalar_one())

    @property
    def book_format(self) -> int:
        """The format of the stored books and archives."""
        with self._database.read() as connection:
            return int(connection.execute(select(IDENTITY.c.book_format)).scalar_one())

    # Deliveries

    def add_deliveries(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Add all or none, and return them in order; a known one as first added, with the archive it had then."""
        with self._database.write() as connection:
            checksums.require_counts(connection)
            known = [delivery_rows.find(connection, one) for one in new]
            require_not_abandoned(connection, [one.archive for one, found in zip(new, known, strict=True) if not found])
            return [delivery_rows.find(connection, one) or delivery_rows.add(connection, one) for one in new]

    def find_delivery(self, source: str, content_sha256: str, settings_sha256: str) -> Delivery | None:
        with self._database.read() as connection:
            return delivery_rows.find_by_key(connection, source, content_sha256, settings_sha256)

    def deliveries(self, ids: Iterable[int]) -> list[Delivery]:
        """The deliveries with these ids, ordered by id."""
        query = select(DELIVERIES).where(DELIVERIES.c.id.in_(list(ids))).order_by(DELIVERIES.c.id)
        with self._database.read() as connection:
            return delivery_rows.read(connection, query)

    def replace_archives(self, archives: Mapping[int, tuple[str, Digest]]) -> None:
        """Name new archives of deliveries, by id: the old ones were lost or damaged, and written again."""
        with self._database.write() as connection:
            checked_rows.require_table(connection, DELIVERIES)
            require_not_abandoned(connection, [path for path, _ in archives.values()])
            for delivery_id, (path, digest) in archives.items():
                values = {"archive": path, "archive_size": digest.size, "archive_sha256": digest.sha256}
                connection.execute(update(DELIVERIES).where(DELIVERIES.c.id == delivery_id).values(values))
                details = {"delivery": delivery_id, "archive": path, "sha256": digest.sha256}
                audit.append(connection, audit.current_user(), "archive written again", details)
            checked_rows.record_deliveries(connection, archives)

    # Checksums

    @property
    def has_checksums(self) -> bool:
        """Whether the digests of all files are recorded. A catalog of an older Trainfare has none yet."""
        with self._database.read() as connection:
            return bool(checksums.recorded(connection))

    def record_checksums(self, digests: Mapping[str, Digest]) -> None:
        """Record the digests of all files that the catalog names, once: rows that have checksums stay as they are."""
        with self._database.write() as connection:
            if checksums.recorded(connection):
                return
            added = connection.execute(select(BOOKS.c.id).where(BOOKS.c.row_sha256.is_not(None)).limit(1)).first()
            if added:
                raise DamagedError("catalog", "its checksums were removed", checksums.RESTORE)
            checked_rows.record_all(connection, digests)
            checksums.record_audit(connection, audit.checksum(connection))

    def checksums(self) -> dict[str, Checksum]:
        """The number of rows and the fingerprint of each table that is checked, by name."""
        with self._database.read() as connection:
            return checksums.recorded(connection)

    def check_rows(self, problems: Problems) -> None:
        """Report everything in the catalog that is not as it was added."""
        with self._database.read() as connection:
            checked_rows.check_all(connection, problems)
        if what := self.audit.verify().problem:
            problems.add("audit log", what, checksums.RESTORE)

    # Books

    def publish(self, month: Month, expected_version: int | None, book: NewBook) -> Book:
        """Add the version after `expected_version` (None: the first) with all its parts, or nothing.

        Of two builds that started from the same version, exactly one is published.
        """
        _require_balance(month, book.totals)
        with self._database.write() as connection:
            require_not_abandoned(connection, book.files.values())
            latest = _latest_version(connection, month)
            _require_still_open(connection, month)
            if latest != expected_version:
                what = f"another build published version {latest} while this one ran"
                raise IncompleteError(f"book {month}", what, "Run trainfare build again.")
            version = (latest or 0) + 1
            checksums.require_counts(connection)
            _insert_book(connection, month, version, book)
            details = {"month": str(month), "version": version, "inputs": book.inputs_sha256}
            audit.append(connection, audit.current_user(), "book published", details)
            return _books(connection, _newest_first(month).limit(1))[0]

    def latest(self, month: Month) -> Book | None:
        with self._database.read() as connection:
            found = _books(connection, _newest_first(month).limit(1))
        return found[0] if found else None

    def book(self, month: Month, version: int) -> Book:
        """One version of a month. If it does not exist, the error lists those that do."""
        with self._database.read() as connection:
            found = _books(connection, _newest_first(month).where(BOOKS.c.version == version))
            if found:
                return found[0]
            latest = _latest_version(connection, month)
        if latest is None:
            raise _no_book(month)
        existing = "There is only version 1." if latest == 1 else f"There are versions 1 to {latest}."
        raise TrainfareError(f"book {month}", f"there is no version {version}", existing)

    def books(self) -> list[Book]:
        """Every version of every month, by month and version."""
        with self._database.read() as connection:
            return _books(connection, checked_rows.with_closing().order_by(BOOKS.c.month, BOOKS.c.version))

    def change_marker(self) -> tuple[int, int, int]:
        """A value that changes whenever a book is published or a month is closed or reopened. It is cheap to query."""
        published = select(
            func.coalesce(func.max(BOOKS.c.id), 0),
            select(func.count(CLOSINGS.c.month)).scalar_subquery(),
            select(func.coalesce(func.max(CLOSINGS.c.audit_rows), 0)).scalar_subquery(),
        )
        with self._database.read() as connection:
            newest, closed, logged = connection.execute(published).one()
        return newest, closed, logged

    def months(self) -> list[Month]:
        """The months that have a book, in order."""
        with self._database.read() as connection:
            return list(connection.execute(select(BOOKS.c.month).distinct().order_by(BOOKS.c.month)).scalars())

    # Closings

    def close(self, month: Month, by: str, note: str, version: int | None = None) -> Closing:
        """Close a month with its latest version, provided that is still `version`. A month is closed once."""
        with self._database.write() as connection:
            book = connection.execute(_newest_first(month).limit(1)).mappings().first()
            if book is None:
                raise _no_book(month)
            if earlier := closings.of_month(connection, month):
                on, version = f"{earlier.closed_at:%Y-%m-%d}", earlier.version
                what = f"it was closed on {on} by {earlier.closed_by}, with version {version}"
                raise TrainfareError(f"book {month}", what, _CLOSED_HELP)
            if version and version != book["version"]:
                what = f"version {book['version']} was published in the meantime"
                raise IncompleteError(f"book {month}", what, "Review it, then close that version.")
            checksums.require_counts(connection)
            details = {"month": str(month), "version": book["version"], "note": note}
            audit.append(connection, by, "month closed", details)
            logged = checksums.recorded(connection).get(AUDIT.name)
            anchor = (logged.rows, logged.head) if logged else (None, None)
            closing = Closing(month, book["version"], _now(), by, note, *anchor)
            closings.add(connection, closing, book["id"])
            return closing

    def reopen(self, month: Month, by: str, note: str) -> Closing:
        """Reopen a closed month, and return how it was closed. The audit log keeps both."""
        with self._database.write() as connection:
            closing = closings.remove(connection, month)
            details = {"month": str(month), "version": closing.version, "note": note}
            audit.append(connection, by, "month reopened", details)
            return closing

    def closing(self, month: Month) -> Closing | None:
        with self._database.read() as connection:
            return closings.of_month(connection, month)

    def closings(self) -> dict[Month, Closing]:
        """The closing of every closed month."""
        with self._database.read() as connection:
            is_checked = checksums.require_counts(connection)
            return {row[0]: checked_rows.closing(row, is_checked) for row in connection.execute(checked_rows.closed())}

    def all_deliveries(self) -> list[Delivery]:
        """Every delivery, ordered by id."""
        with self._database.read() as connection:
            return delivery_rows.read(connection, select(DELIVERIES).order_by(DELIVERIES.c.id))

    def replace_files(self, migrated: MigratedFiles) -> None:
        """Switch all books and deliveries to migrated files, unless another process did so first.

        This is the only change to rows that were added before. Versions, totals, fingerprints and closings stay.
        """
        with self._database.write() as connection:
            if connection.execute(select(IDENTITY.c.book_format)).scalar_one() >= migrated.book_format:
                return
            _require_complete(connection, migrated)
            require_not_abandoned(connection, migrated.paths)
            for (book_id, name), (new_name, path) in migrated.tables.items():
                row = (BOOK_FILES.c.book_id == book_id, BOOK_FILES.c.table_name == name)
                connection.execute(update(BOOK_FILES).where(*row).values(migrated.changes(book_id, new_name, path)))
            for delivery_id, (format_, path) in migrated.archives.items():
                archived = update(DELIVERIES).where(DELIVERIES.c.id == delivery_id)
                connection.execute(archived.values(format=format_, archive=path))
            connection.execute(update(IDENTITY).values(book_format=migrated.book_format))
            checked_rows.record_books_again(connection)
            details = {"format": migrated.book_format, "files": len(migrated.tables) + len(migrated.archives)}
            audit.append(connection, audit.current_user(), "stored books migrated", details)

    def referenced_files(self) -> set[str]:
        """Every file of the lake that a book or a delivery names."""
        with self._database.read() as connection:
            return set(connection.execute(union(select(BOOK_FILES.c.path), select(DELIVERIES.c.archive))).scalars())


_CLOSED_HELP = "A closed month does not change. Later charges are booked as an adjustment in the next open month."


def _now() -> datetime:
    return datetime.now(UTC)


def _no_book(month: Month) -> TrainfareError:
    return TrainfareError(f"book {month}", "this month has no book yet", f"Run: trainfare build --month {month}")


def _require_balance(month: Month, totals: Iterable[Total]) -> None:
    """The last check: whatever went wrong before, no book is published whose shares differ from its charges."""
    for total in totals:
        if total.charges != total.shares:
            what = (
                f"{total.basis} of {total.source} does not add up: "
                f"charges {total.charges:f} {total.currency}, shares {total.shares:f} {total.currency}"
            )
            do = "Nothing was published. Internal error; please report it."
            raise TrainfareError(f"book {month}", what, do)


def _require_still_open(connection: Connection, month: Month) -> None:
    if closing := closings.of_month(connection, month):
        raise IncompleteError(f"book {month}", f"the month is closed, with version {closing.version}", _CLOSED_HELP)


def _require_complete(connection: Connection, migrated: MigratedFiles) -> None:
    """Reject a migration during which files were added: they would keep the old format."""
    tables = set(connection.execute(select(BOOK_FILES.c.book_id, BOOK_FILES.c.table_name)).tuples())
    deliveries = set(connection.execute(select(DELIVERIES.c.id)).scalars())
    if tables != migrated.tables.keys() or deliveries != migrated.archives.keys():
        what = "another process added files while the stored books were migrated"
        raise IncompleteError("catalog", what, "Stop processes of the older Trainfare and run the command again.")


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
        BOOK_FILES: [
            {"table_name": name, "path": path, "rows": book.rows[name], **_digest_columns(book.digests.get(name))}
            for name, path in book.files.items()
        ],
        BOOK_TOTALS: [asdict(total) for total in book.totals],
        BOOK_DELIVERIES: [{"delivery_id": delivery} for delivery in book.deliveries],
    }
    for table, rows in parts.items():
        if rows:
            connection.execute(insert(table), [{"book_id": book_id, **each} for each in rows])
    (added,) = checked_rows.books(
        connection, checked_rows.with_closing().where(BOOKS.c.id == book_id), is_checked=False
    )
    row_sha256 = checksums.of_book(added)
    connection.execute(update(BOOKS).where(BOOKS.c.id == book_id).values(row_sha256=row_sha256))
    checksums.extend(connection, BOOKS, row_sha256)


def _digest_columns(digest: Digest | None) -> dict[str, Any]:
    return {"size": digest.size if digest else None, "sha256": digest.sha256 if digest else None}


def _newest_first(month: Month) -> Select[Any]:
    return checked_rows.with_closing().where(BOOKS.c.month == month).order_by(BOOKS.c.version.desc())


def _books(connection: Connection, query: Select[Any]) -> list[Book]:
    return checked_rows.books(connection, query, checksums.require_counts(connection))
