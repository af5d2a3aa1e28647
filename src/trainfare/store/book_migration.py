"""Migrate the stored books and archives of an older Trainfare to the current format.

The migrated files are written next to the old ones. One transaction then switches the catalog to them, so a crash
leaves either the old state or the new one, and the next attempt starts over. Files that are no longer named are swept
by the next build. Figures do not change: format 2 gave tables, columns, terms and texts new names, format 3 stores what
the lost work of a book was shown to cost, and format 4 names jobs by their clusters.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet, quoted
from trainfare.errors import UnwritableError
from trainfare.files import digests
from trainfare.files.locations import Location
from trainfare.store import BOOK_FORMAT, integrity
from trainfare.store.migrations.versions import r0005_standard_terms as terms
from trainfare.store.migrations.versions import r0008_work_costs as work
from trainfare.store.migrations.versions import r0010_job_ids as job_ids
from trainfare.store.records import Book, Delivery, MigratedFiles
from trainfare.store.schema import BOOKS

if TYPE_CHECKING:
    from trainfare.store import Store


def migrate_books(store: "Store", notify: Callable[[str], None]) -> None:
    """Migrate all books and deliveries of a store to the current format, or change nothing."""
    notify("migrating the stored books to the format of this version")
    with _explained(store), store.lake.building() as build_id, embedded() as engine:
        migration = _Migration(store, engine, build_id, _unusable(store))
        found = store.catalog.book_format
        migrated = migration.use_standard_terms() if found < 2 else migration.nothing()
        migrated = migration.store_work_costs(migrated) if found < 3 else migrated
        migrated = migration.name_jobs(migrated)
        written = migrated.paths - store.catalog.referenced_files()
        store.lake.make_durable(written)
        if store.catalog.has_checksums:
            migrated = replace(migrated, digests={path: digests.digest(store.lake.path(path)) for path in written})
            integrity.copy_checksums(store, without=BOOKS.name)  # a crash after the switch leaves no copy of old rows
        store.catalog.replace_files(migrated)
        if store.catalog.has_checksums:
            integrity.copy_checksums(store)
    notify(f"migrated {len(store.catalog.books())} books; open months are rebuilt by the next build")


def _unusable(store: "Store") -> set[str]:
    """The missing files, and the damaged ones: a migrated copy would pass for what was written."""
    missing = store.missing_files()
    books = store.catalog.books()
    known = {book.files[name]: digest for book in books for name, digest in book.digests.items()}
    return missing | integrity.unusable(store, {path: one for path, one in known.items() if path not in missing})


@contextmanager
def _explained(store: "Store") -> Iterator[None]:
    try:
        yield
    except UnwritableError as error:
        what = "an older Trainfare wrote these books, and they cannot be migrated: no write access"
        raise UnwritableError(str(store.lake.root), what) from error


@dataclass(frozen=True)
class _Migration:
    store: "Store"
    engine: DuckDB
    build_id: str
    missing: set[str]

    def nothing(self) -> MigratedFiles:
        """All files as they are."""
        tables = {
            (book.id, name): (name, path) for book in self.store.catalog.books() for name, path in book.files.items()
        }
        archives = {one.id: (one.format, one.archive) for one in self.store.catalog.all_deliveries()}
        return MigratedFiles(BOOK_FORMAT, tables, archives)

    def use_standard_terms(self) -> MigratedFiles:
        """Migrate all files from format 1 to format 2."""
        tables = {
            (book.id, name): self.table(book, name, path, own_rules)
            for book in self.store.catalog.books()
            for own_rules in [self.own_rules(book)]
            for name, path in book.files.items()
        }
        archives = {one.id: self.archive(one) for one in self.store.catalog.all_deliveries()}
        return MigratedFiles(BOOK_FORMAT, tables, archives)

    def store_work_costs(self, migrated: MigratedFiles) -> MigratedFiles:
        """Migrate the tables about lost work from format 2 to format 3. A file that cannot be read stays as it is."""
        tables, rows = dict(migrated.tables), {}
        for book in self.store.catalog.books():
            files = {
                name: (old, path) for (book_id, old), (name, path) in migrated.tables.items() if book_id == book.id
            }
            read = {
                name: parquet(self.store.lake.path(path))
                for name, (_, path) in files.items()
                if path not in self.missing
            }
            selects = {}
            if {"shares", work.SECONDS} <= read.keys():
                selects[work.SECONDS] = ("work_costs", work.work_costs(read["shares"], read[work.SECONDS]))
            if "book_work" in read:
                bounds = (int(moment.timestamp()) for moment in (book.month.start, book.month.end))
                selects["book_work"] = ("book_work", work.book_work(read["book_work"], *bounds))
            for name, (new_name, select) in selects.items():
                target = self.store.lake.book_path(new_name, book.month, f"v{book.version}-w-{self.build_id}")
                self.engine.write_parquet(select, target)
                tables[book.id, files[name][0]] = new_name, self.store.lake.relative(target)
                (rows[book.id, new_name],) = self.engine.row(f"SELECT count(*) FROM {parquet(target)}")
        return replace(migrated, tables=tables, rows=rows)

    def name_jobs(self, migrated: MigratedFiles) -> MigratedFiles:
        """Migrate the ids of jobs from format 3 to format 4. A file that cannot be read stays as it is."""
        tables = dict(migrated.tables)
        logs = self._logs_by_delivery(migrated)
        for book in self.store.catalog.books():
            files = {
                name: (old, path)
                for (book_id, old), (name, path) in migrated.tables.items()
                if book_id == book.id and name in job_ids.TABLES and path not in self.missing
            }
            used = [logs[number] for number in book.deliveries if number in logs]
            if used:
                self.engine.table("new_job_ids", job_ids.new_ids(used))
            for name, (old, path) in files.items() if used else ():
                target = self.store.lake.book_path(name, book.month, f"v{book.version}-j-{self.build_id}")
                self.engine.write_parquet(job_ids.renamed(parquet(self.store.lake.path(path)), "new_job_ids"), target)
                tables[book.id, old] = name, self.store.lake.relative(target)
        return replace(migrated, tables=tables)

    def _logs_by_delivery(self, migrated: MigratedFiles) -> dict[int, str]:
        """FROM items of the archived job logs that name clusters, by the number of the delivery."""
        found = {}
        for number, (format_, path) in migrated.archives.items():
            if format_ in job_ids.FORMATS and path not in self.missing:
                archive = parquet(self.store.lake.path(path))
                if "log_cluster" in self.engine.columns(archive):
                    found[number] = archive
        return found

    def own_rules(self, book: Book) -> set[str]:
        """The names of the user's own rules in a book. They stay, even if a built-in rule of that name is renamed."""
        path = book.files.get("settings")
        if path is None or path in self.missing:
            return set()
        (text,) = self.engine.row(f"SELECT settings FROM {parquet(self.store.lake.path(path))}")
        return {rule["name"] for rule in json.loads(text)["rule"]}

    def table(self, book: Book, name: str, path: str, own_rules: set[str]) -> tuple[str, str]:
        """Migrate a table of a book; return its new name and path."""
        new_name = terms.TABLES.get(name, name)
        if path in self.missing:
            return new_name, path
        target = self.store.lake.book_path(new_name, book.month, f"v{book.version}-{self.build_id}")
        self._rewrite(name, self.store.lake.path(path), target, own_rules)
        return new_name, self.store.lake.relative(target)

    def archive(self, delivery: Delivery) -> tuple[str, str]:
        """Migrate the archive of a delivery; return its new format and path."""
        new_format = terms.FORMATS.get(delivery.format, delivery.format)
        if delivery.archive in self.missing or not self._concerns(delivery):
            return new_format, delivery.archive
        target = self.store.lake.delivery_path(delivery.content_sha256, self.build_id)
        self._rewrite(delivery.format, self.store.lake.path(delivery.archive), target)
        return new_format, self.store.lake.relative(target)

    def _concerns(self, delivery: Delivery) -> bool:
        """Whether an archive has former names. Bills are stored as delivered, in terms that are not ours."""
        columns = self.engine.columns(parquet(self.store.lake.path(delivery.archive)))
        return any((delivery.format, column) in terms.COLUMNS or column in terms.VALUES for column in columns)

    def _rewrite(self, name: str, path: Location, target: Location, own_rules: Set[str] = frozenset()) -> None:
        source = parquet(path)
        columns = self.engine.columns(source)
        selected = {
            terms.COLUMNS.get((name, column), column): _expression(column, type_, own_rules)
            for column, type_ in columns.items()
        }
        if name == "settings":
            (text,) = self.engine.row(f"SELECT settings FROM {source}")
            selected["settings"] = quoted(_migrated_settings(text))
            selected["account_version"] = quoted(terms.ACCOUNT_VERSION)
        listed = ", ".join(f'{expression} AS "{column}"' for column, expression in selected.items())
        self.engine.write_parquet(f"SELECT {listed} FROM {source}", target)


def _expression(column: str, type_: str, own_rules: Set[str]) -> str:
    """SQL for a column with its former values replaced."""
    expression = f'"{column}"'
    if type_ != "VARCHAR":
        return expression
    for pattern, replacement in terms.PATTERNS.get(column, ()):
        expression = f"regexp_replace({expression}, {quoted(pattern)}, {quoted(replacement)}, 'g')"
    excluded = own_rules if column in terms.RULE_COLUMNS else frozenset()
    changed = {old: new for old, new in terms.VALUES.get(column, {}).items() if old not in excluded}
    cases = " ".join(f"WHEN {quoted(old)} THEN {quoted(new)}" for old, new in changed.items())
    return f'CASE "{column}" {cases} ELSE {expression} END' if cases else expression


def _migrated_settings(text: str) -> str:
    """The settings of a book with the former values in the conditions of its rules replaced."""
    settings: dict[str, Any] = json.loads(text)
    for rule in settings["rule"]:
        rule["match"] = {key: _replaced(value, terms.VALUES.get(key, {})) for key, value in rule["match"].items()}
    return json.dumps(settings, separators=(",", ":"), ensure_ascii=False)


def _replaced(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_replaced(one, values) for one in value]
    return values.get(value, value) if isinstance(value, str) else value
