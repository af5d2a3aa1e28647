"""A workspace of the previous version is migrated when it is opened, and every figure stays the same."""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text

from trainfare.books.inputs import ACCOUNT_VERSION
from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.store import BOOK_FORMAT, Store
from trainfare.store.catalog import Catalog
from trainfare.store.migrations.versions import r0005_standard_terms as terms
from trainfare.store.schema import REVISION

from .company import NOVEMBER, OCTOBER
from .folder import Workspace
from .previous_version import reported, unpack, use_current_terms
from .previous_version.make import AS_OF, PASSWORD, QUERIES, bill
from .test_only_read import without_write_permission

FIGURES = [name for name in QUERIES if name not in ("users", "tokens")]
CHANGED_FIELDS = (
    *("unit_price", "rate_cost", "at_least", "billed_part", "job", "other_months", "groups"),
    *("rate", "rate_median", "rate_p95", "unbilled_wall_hours"),
)
"""Fields that are newer than the recorded figures, that now count the days that are billed in full, and ids of jobs."""
RATE_METRICS = ("M1", "M2", "M6", "M7", "M8", "M10")
TABLES_BY_REFERENCE = (
    *("identity", "deliveries", "books", "book_deliveries", "book_files", "book_totals", "closings", "sightings"),
    *("acceptances", "users", "tokens", "sessions", "audit", "builds"),
)


@pytest.fixture
def old(tmp_path: Path) -> Workspace:
    """The workspace as the previous version left it, with settings in the terms of this version."""
    workspace = Workspace(unpack(tmp_path / "old"))
    use_current_terms(workspace.folder)
    return workspace


@pytest.fixture(scope="module")
def migrated_once(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A migrated workspace, for tests that only read it."""
    workspace = Workspace(unpack(tmp_path_factory.mktemp("migrated")))
    use_current_terms(workspace.folder)
    with workspace.open():
        return workspace


def rows(workspace: Workspace, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(workspace.folder / "catalog.sqlite")) as catalog:
        return catalog.execute(query).fetchall()


def figures(printed: str) -> Counter[Decimal]:
    """Every number in printed JSON, wherever it is, except rates: these have had another definition since."""

    def numbers(value: Any) -> Iterator[Decimal]:
        if isinstance(value, dict):
            is_rate = value.get("metric") in RATE_METRICS
            value = [one for name, one in value.items() if name not in CHANGED_FIELDS and not is_rate]
        if isinstance(value, list):
            for one in value:
                yield from numbers(one)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            try:
                yield Decimal(value)
            except InvalidOperation:
                return

    return Counter(numbers(json.loads(printed)))


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "explain with ledgers"])
def test_every_figure_is_that_of_the_previous_version(migrated_once: Workspace, name: str) -> None:
    ran = migrated_once.run(*QUERIES[name])
    assert ran.code in (0, 1), ran.err
    expected = figures(reported()[name])
    assert len(expected) > 3
    assert figures(ran.out) == expected


def test_adjustments_that_an_older_version_booked_are_explained_after_a_build(old: Workspace) -> None:
    """They were allocated in the open month, which this version does not repeat."""
    ran = old.run(*QUERIES["explain with ledgers"])
    assert ran.code == 3
    assert "an older Trainfare booked its adjustments of closed months" in ran.err
    assert old.run("build", "--as-of", AS_OF).code == 0
    ran = old.run(*QUERIES["explain with ledgers"])
    assert ran.code == 0, ran.err


def test_a_report_names_rules_in_the_terms_of_this_version(migrated_once: Workspace) -> None:
    then = {row["rule"]: row["cost"] for row in json.loads(reported()["report by rule"])["rows"]}
    ran = migrated_once.run(*QUERIES["report by rule"])
    now = {row["rule"]: row["cost"] for row in json.loads(ran.out)["rows"]}
    assert now == {terms.VALUES["rule"].get(rule, rule): cost for rule, cost in then.items()}
    assert "license per core" in now


def test_versions_totals_fingerprints_and_closings_stay(old: Workspace) -> None:
    kept = {
        "books": "SELECT id, month, version, built_at, engine, inputs_sha256, complete_through FROM books ORDER BY id",
        "totals": "SELECT * FROM book_totals ORDER BY book_id, source, currency, basis",
        "closings": "SELECT month, book_id, closed_at, closed_by, note FROM closings",
        "deliveries": "SELECT id, source, path, content_sha256, settings_sha256, lines, delivered_at FROM deliveries",
        "book_deliveries": "SELECT * FROM book_deliveries ORDER BY book_id, delivery_id",
        "acceptances": "SELECT * FROM acceptances",
    }
    # The tables about lost work are stored in another form.
    sizes = (
        "SELECT book_id, table_name, rows FROM book_files "
        "WHERE table_name NOT IN ('work_seconds', 'work_costs', 'book_work')"
    )
    before = {name: rows(old, query) for name, query in kept.items()}
    files = {(book, terms.TABLES.get(name, name), count) for book, name, count in rows(old, sizes)}
    seen = rows(old, "SELECT * FROM sightings")
    old.open().catalog.dispose()
    assert {name: rows(old, query) for name, query in kept.items()} == before
    assert set(rows(old, sizes)) == files
    assert rows(old, "SELECT * FROM finding_sightings") == seen
    old.require_sound()


def test_users_tokens_and_the_audit_log_stay(old: Workspace) -> None:
    with old.open() as store:
        access = store.catalog.access
        ana, found = access.authenticate("ana", PASSWORD), access.find_token(reported()["token"])
        assert ana
        assert found
        assert ana.visibility == found.visibility == ("team:nlp",)
        assert store.catalog.audit.verify().broken is None
        assert [entry.what for entry in store.catalog.audit.entries()][-1] == "stored books migrated"


def test_nothing_in_the_stored_books_has_a_former_name(old: Workspace) -> None:
    with old.open() as store:
        store.sweep()
        names = {name for book in store.catalog.books() for name in book.files}
        assert not names & terms.TABLES.keys()
        assert not {one.format for one in store.catalog.all_deliveries()} & terms.FORMATS.keys()
    assert old.unreferenced() == set()
    assert not {name.split("/")[0] for name in old.listing()} & terms.TABLES.keys()
    states = {row[3] for row in old.digits(OCTOBER)["book_attempts"][1:]}
    assert "canceled" in states | {cell for row in old.digits(OCTOBER)["book_attempts"] for cell in row}


def test_the_next_build_rebuilds_open_months_and_says_why(old: Workspace) -> None:
    ran = old.run("build", "--as-of", AS_OF)
    assert ran.code == 0, ran.err
    assert "migrating the stored books to the format of this version\n" in ran.err
    assert "2026-11  version 3: " in ran.err
    assert "rebuilt because an older Trainfare built the previous version" in ran.err
    assert "2026-10  closed with version 2" in ran.err
    changed = json.loads(old.run("diff", "2", "3", "--month", NOVEMBER, "--format", "json").out)
    # Adjustments are allocated as in the closed month, so they move between payers, and so does support by spend.
    assert (changed["bill"], sum(Decimal(payer["change"]) for payer in changed["payers"])) == ([], 0)
    before, after = old.digits(NOVEMBER, 2), old.digits(NOVEMBER, 3)
    settings = [tables.pop("settings")[1] for tables in (before, after)]
    stored = [json.loads(row[0]) for row in settings]
    for rule in stored[0]["rule"]:
        rule["weights"] = {}  # rules of the previous version had none
    assert stored[1].pop("named_sources") == ["cloud", "slurm"]  # newer than the previous version, too
    assert stored[0] == stored[1]
    assert settings[0][1:-1] == settings[1][1:-1]
    assert int(settings[0][-1]) < int(settings[1][-1]) == int(ACCOUNT_VERSION)
    # Nothing is estimated; only the columns of these tables are new.
    assert [len(before.pop("estimates")), len(after.pop("estimates")), len(after.pop("past_estimates"))] == [1, 1, 1]
    for table in ("book_placements", "attempt_usage", "rules_in_force", "conversions"):
        assert before[table] == after[table]
    assert old.run("build", "--as-of", AS_OF).err.startswith("2026-11  unchanged: version 3")
    old.require_sound()


def test_a_closed_month_can_be_adjusted_after_the_migration(old: Workspace) -> None:
    """Each of 62 machine days costs one dollar more than what November has booked, which is one more than closed."""
    old.write("bills/october.csv", bill("2026-10", 31, "USD", "1173.912345678901"))
    entries = old.folder / "files" / "people.csv"
    entries.write_text(entries.read_text().replace("7.5,95.00", "8.5,95.00"))
    assert old.run("build", "--as-of", AS_OF).code == 0
    assert old.total(NOVEMBER, source="cloud adjusting 2026-10") == Decimal(124)
    assert old.total(NOVEMBER, source="files adjusting 2026-10") == Decimal(95)
    assert old.run("explain", "41", "--month", NOVEMBER).code == 0
    assert old.run("reconcile", "--month", NOVEMBER).code == 0
    old.close(NOVEMBER)
    old.require_sound()


def test_a_rule_of_the_user_keeps_its_name(old: Workspace) -> None:
    """Even if it has the former name of a built-in rule."""
    former = next(name for name in terms.VALUES["rule"] if " " in name)
    ((path,),) = rows(old, "SELECT path FROM book_files WHERE table_name = 'settings' AND book_id = 3")
    settings = old.folder / "lake" / path
    with closing(DuckDB()) as engine:
        renamed = f"replace(settings, 'people of the platform', '{former}') AS settings"
        engine.table("changed", f"SELECT * REPLACE ({renamed}) FROM {parquet(settings)}")
        engine.write_parquet("SELECT * FROM changed", settings)
    header, *kinds = old.digits(OCTOBER)["share_kinds"]
    assert former in {row[header.index("rule")] for row in kinds}
    header, *kinds = old.digits(NOVEMBER)["share_kinds"]
    assert former not in {row[header.index("rule")] for row in kinds}


def test_opening_a_migrated_workspace_again_changes_nothing(old: Workspace) -> None:
    old.open().catalog.dispose()
    listing, audit = old.listing(), rows(old, "SELECT count(*) FROM audit")
    with old.open() as store:
        assert store.catalog.book_format == BOOK_FORMAT
    assert (old.listing(), rows(old, "SELECT count(*) FROM audit")) == (listing, audit)


def test_the_digests_of_existing_files_are_recorded_once(old: Workspace) -> None:
    """As the files are then; what changes later is reported, also if somebody removes the digests."""
    old.open().catalog.dispose()
    recorded = rows(old, "SELECT path, size, sha256 FROM book_files") + rows(
        old, "SELECT archive, archive_size, archive_sha256 FROM deliveries"
    )
    for name, size, sha256 in recorded:
        content = (old.folder / "lake" / name).read_bytes()
        assert (size, sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert len(recorded) > 50
    assert old.run("verify").code == 0
    (old.folder / "lake" / recorded[0][0]).write_bytes(b"other")
    ran = old.run("verify")
    assert (ran.code, "the file is damaged" in ran.err) == (2, True)


def _die_before_switching(folder: Path) -> None:
    Catalog.replace_files = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign,assignment]
    Store.open(folder)


def test_a_migration_that_is_killed_leaves_the_old_books_and_is_done_again(old: Workspace) -> None:
    named = ("SELECT book_id, table_name, path, rows FROM book_files", "SELECT id, format, archive FROM deliveries")
    before = [rows(old, query) for query in named]
    files = set(old.listing())
    process = multiprocessing.get_context("spawn").Process(target=_die_before_switching, args=(old.folder,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert [rows(old, query) for query in named] == before
    assert files < set(old.listing()), "it was killed before it wrote anything"
    with old.open() as store:
        assert store.catalog.book_format == BOOK_FORMAT
        store.sweep()
        assert {name for name in old.listing() if name.endswith(".parquet")} == store.catalog.referenced_files()
    assert figures(old.run(*QUERIES["report"]).out) == figures(reported()["report"])
    old.require_sound()


def test_a_file_added_during_the_migration_stops_it(old: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of the previous version that was still running would otherwise leave files in the old format."""
    switch = Catalog.replace_files

    def overtaken(self: Catalog, migrated: Any) -> None:
        with self._database.write() as connection:
            columns = "source, path, format, settings_sha256, archive, lines, delivered_at"
            added = (
                f"INSERT INTO deliveries (id, content_sha256, {columns}) SELECT 99, 'new', {columns} FROM deliveries"
            )
            connection.execute(text(f"{added} WHERE id = 1"))
        switch(self, migrated)

    monkeypatch.setattr(Catalog, "replace_files", overtaken)
    with pytest.raises(IncompleteError, match="another process added files while the stored books were migrated"):
        old.open()
    monkeypatch.undo()
    with old.open() as store:
        assert store.catalog.book_format == BOOK_FORMAT


def test_two_processes_may_migrate_at_once(old: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    switch = Catalog.replace_files

    def overtaken(self: Catalog, migrated: Any) -> None:
        monkeypatch.undo()
        old.open().catalog.dispose()
        switch(self, migrated)

    monkeypatch.setattr(Catalog, "replace_files", overtaken)
    with old.open() as store:
        store.sweep()
        assert {name for name in old.listing() if name.endswith(".parquet")} == store.catalog.referenced_files()
    assert rows(old, "SELECT count(*) FROM audit WHERE what = 'stored books migrated'") == [(1,)]


def test_a_missing_file_does_not_stop_the_migration(old: Workspace) -> None:
    """It is still missing afterwards, and the next build restores it if its month is open."""
    ((path,),) = rows(old, "SELECT path FROM book_files WHERE table_name = 'ways' AND book_id = 4")
    (old.folder / "lake" / path).unlink()
    with old.open() as store:
        assert store.missing_files() == {path}
    assert "files of the previous version were missing" in old.run("build", "--as-of", AS_OF).err
    old.require_sound(latest=True)


def test_a_workspace_that_cannot_be_written_says_so(old: Workspace, tmp_path: Path) -> None:
    with without_write_permission(tmp_path / "copy", old) as reader:
        ran = reader.run("report")
        assert ran.code == 2
        assert f"an older Trainfare wrote the catalog (schema 4, now {REVISION}), and it cannot be upgraded" in ran.err


def test_a_half_migrated_workspace_that_cannot_be_written_says_so(old: Workspace, tmp_path: Path) -> None:
    """The schema was upgraded, and the process ended before the books were migrated."""
    Catalog.open(old.folder / "catalog.sqlite").dispose()
    with without_write_permission(tmp_path / "copy", old) as reader:
        ran = reader.run("report")
        assert ran.code == 2
        assert "an older Trainfare wrote these books, and they cannot be migrated: no write access" in ran.err


def _copy_to(connection: Connection, source: Path) -> None:
    """Make the schema of the previous version in an empty database, and copy the rows of a SQLite catalog."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "trainfare.store:migrations")
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "4")
    connection.execute(text("DELETE FROM identity"))
    with closing(sqlite3.connect(source)) as catalog:
        catalog.row_factory = sqlite3.Row
        for table in TABLES_BY_REFERENCE:
            for row in map(dict, catalog.execute(f"SELECT * FROM {table}")):
                marks = ", ".join(f":{name}" for name in row)
                connection.execute(text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"), row)
    for table in ("deliveries", "books", "acceptances", "tokens", "audit"):
        sequence = f"pg_get_serial_sequence('{table}', 'id')"
        connection.execute(text(f"SELECT setval({sequence}, (SELECT max(id) FROM {table}))"))


def test_a_catalog_in_postgresql_is_migrated(old: Workspace, postgres_url: str) -> None:
    engine = create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        _copy_to(connection, old.folder / "catalog.sqlite")
    engine.dispose()
    shutil.move(old.folder / "catalog.sqlite", old.folder / "former.sqlite")
    use_current_terms(old.folder, catalog=postgres_url)
    for name in ("report", "explain", "reconcile"):
        assert figures(old.run(*QUERIES[name]).out) == figures(reported()[name])
    with old.open() as store:
        assert store.catalog.book_format == BOOK_FORMAT
        assert store.catalog.audit.verify().broken is None
    assert old.run("build", "--as-of", AS_OF).code == 0
    assert old.book(Month(2026, 11)).version == 3
    old.require_sound()
