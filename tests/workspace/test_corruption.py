"""Whatever is damaged in the lake or the catalog is reported, or harmless; no figure changes, and nothing crashes."""

import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import soak

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import DamagedError, TrainfareError
from trainfare.files import digests
from trainfare.store import Store

from . import company
from .company import NOVEMBER, OCTOBER
from .faults import Faults
from .folder import Digits, Workspace

FAULTS = 100 * soak.SCALE
MONTHS = (OCTOBER, NOVEMBER)
DAMAGED = "the file is damaged"
NO_BOOK = "the month has no book"


def fresh_process() -> None:
    """Forget what this process verified, as a new one would."""
    digests._VERIFIED.clear()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    fresh_process()
    yield
    fresh_process()


def table(workspace: Workspace, name: str, month: object = OCTOBER) -> Path:
    return workspace.folder / "lake" / workspace.book(month).files[name]  # type: ignore[arg-type]


def flip(path: Path, at: int | None = None) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if at is None else at] ^= 0x10
    path.write_bytes(content)


def archives(workspace: Workspace) -> list[Path]:
    return sorted((workspace.folder / "lake" / "deliveries").iterdir())


@pytest.mark.parametrize("command", ["report", "reconcile", "check", "metrics", "explain", "export", "verify"])
def test_a_changed_file_is_reported_by_its_name_before_any_figure(built: Workspace, command: str) -> None:
    changed_file = table(built, "shares")
    flip(changed_file)
    fresh_process()
    arguments = {"explain": ["alone"], "export": [built.folder / "x.csv"]}.get(command, [])
    month = [] if command == "verify" else ["--month", OCTOBER]
    ran = built.run(command, *arguments, *month)
    assert (ran.code, ran.out) == (2, "")
    assert f"{changed_file}: {DAMAGED}\n" in ran.err


def test_an_intact_workspace_passes(built: Workspace) -> None:
    """The nearest case that must not be reported: touched, copied and moved files are the same files."""
    for path in (built.folder / "lake").rglob("*.parquet"):
        os.utime(path, (1, 1))
    moved = Workspace(built.folder.rename(built.folder.with_name("moved")))
    ran = moved.run("verify")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("Verified ")
    for command in ("reconcile", "check"):
        assert moved.run(command).code in (0, 1)
    moved.close(OCTOBER)


def test_a_changed_number_that_still_ties_out_is_reported(built: Workspace) -> None:
    """A valid Parquet file in which two payers swapped: every sum is the same, and it is still not the file."""
    changed_file = table(built, "shares")
    with closing(DuckDB()) as engine:
        swapped = "CASE payer_key WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE payer_key END"
        engine.write_parquet(
            f"SELECT * REPLACE ({swapped} AS payer_key) FROM {parquet(changed_file)}", changed_file.with_suffix(".x")
        )
    changed_file.with_suffix(".x").rename(changed_file)
    fresh_process()
    ran = built.run("reconcile", "--month", OCTOBER)
    assert (ran.code, ran.out) == (2, "")
    assert f"{changed_file}: {DAMAGED}" in ran.err


def test_a_file_that_changes_after_it_was_verified_never_ends_in_a_traceback(built: Workspace) -> None:
    """In one process: whatever the engine makes of it, the message names the file."""
    with built.open() as store, closing(DuckDB()) as engine:
        book = store.catalog.latest(OCTOBER)
        assert book
        files = store.files(book).files
        path = Path(str(files["shares"]))
        content = path.read_bytes()
        chance, seen = random.Random(soak.SEED), Counter[str]()
        for _ in range(60):
            changed_file = bytearray(content)
            changed_file[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            path.write_bytes(changed_file)
            digests._VERIFIED[str(path)] = ("before", book.digests["shares"])
            try:
                engine.rows(f"SELECT sum(effective), sum(billed), max(day) FROM {parquet(path)}")
                seen["read"] += 1
            except DamagedError as error:
                seen["reported" if error.where == str(path) else error.where] += 1
        assert seen["reported"] > 5, seen
        assert set(seen) <= {"read", "reported"}


def test_damaged_tables_of_an_open_month_are_rebuilt(built: Workspace) -> None:
    digits = built.digits(OCTOBER)
    flip(table(built, "shares"))
    flip(table(built, "book_attempts"))
    fresh_process()
    first, second = built.build()
    assert "version 2" in first
    assert first.endswith("rebuilt because files of the previous version were missing or damaged")
    assert second == "2026-11  unchanged: version 1"
    assert built.digits(OCTOBER) == digits
    assert built.run("reconcile", "--month", OCTOBER).code == 0


def test_damaged_archives_are_written_again_from_their_files(built: Workspace) -> None:
    digits = {month: built.digits(month) for month in MONTHS}
    before = archives(built)
    for path in before:
        flip(path)
    fresh_process()
    assert built.build() == ["2026-10  unchanged: version 1", "2026-11  unchanged: version 1"]
    assert {month: built.digits(month) for month in MONTHS} == digits
    assert len(archives(built)) == len(before)
    assert not set(before) & set(archives(built)), "the damaged ones are swept"
    fresh_process()
    assert built.run("verify").code == 0
    with built.open() as store:
        assert [one.what for one in store.catalog.audit.entries()].count("archive written again") == len(before)


def test_a_damaged_archive_whose_file_is_gone_is_reported(built: Workspace) -> None:
    """Its month was closed with it, and adjustments compare with it."""
    built.close(OCTOBER)
    with built.open() as store:
        (number,) = [one.id for one in store.catalog.all_deliveries() if one.path.endswith("bills/2026-10.csv")]
        (row,) = store.catalog.deliveries([number])
    changed_file = built.folder / "lake" / row.archive
    flip(changed_file)
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    fresh_process()
    ran = built.run("build")
    assert ran.code == 2
    assert ran.err.startswith(f"{changed_file}: {DAMAGED}\n  Restore it from a backup, or put the delivered file back")


def test_a_month_with_a_damaged_archive_is_not_closed(built: Workspace) -> None:
    (first, *_) = archives(built)
    flip(first)
    fresh_process()
    ran = built.run("close", OCTOBER)
    assert ran.code == 2
    assert f"{first}: {DAMAGED}" in ran.err
    with built.open() as store:
        assert not store.catalog.closing(OCTOBER)


def change(workspace: Workspace, statement: str) -> None:
    with closing(sqlite3.connect(workspace.folder / "catalog.sqlite", isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount > 0


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE book_totals SET charges = charges || '1', shares = shares || '1'", "book 2026-10 version 1: its rows"),
        ("UPDATE book_files SET sha256 = replace(sha256, 'a', 'b')", "book 2026-10 version 1: its rows"),
        ("UPDATE books SET complete_through = NULL", "book 2026-10 version 1: its rows"),
        ("UPDATE books SET built_at = 'yesterday'", "catalog: it has the value 'yesterday' where none can be"),
        ("DELETE FROM book_files WHERE table_name = 'findings'", "book 2026-10 version 1: its rows"),
        ("UPDATE deliveries SET lines = lines - 1", "delivery 1: its rows"),
        ("DELETE FROM books WHERE month = '2026-11'", "catalog: the catalog has 1 books where it had 2"),
        ("DELETE FROM table_checksums", "catalog: its checksums were removed"),
    ],
)
def test_changed_rows_of_the_catalog_are_reported(built: Workspace, statement: str, message: str) -> None:
    change(built, statement)
    ran = built.run("reconcile", "--month", OCTOBER)
    assert ran.code == 2
    assert message in ran.err


def test_the_path_of_another_intact_file_is_reported(built: Workspace) -> None:
    """Both files are as they were written, but they are not those of this book."""
    other = built.book(NOVEMBER).files["shares"]
    change(built, f"UPDATE book_files SET path = '{other}' WHERE table_name = 'shares' AND book_id = 1")
    assert "book 2026-10 version 1: its rows" in built.run("report", "--month", OCTOBER).err


def test_a_catalog_of_an_older_backup_is_reported(built: Workspace) -> None:
    backup = shutil.copyfile(built.folder / "catalog.sqlite", built.folder / "backup")
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    built.build()
    for path in built.folder.glob("catalog.sqlite*"):
        path.unlink()
    backup.rename(built.folder / "catalog.sqlite")
    ran = built.run("report")
    assert ran.code == 2
    assert "the catalog is older than the lake" in ran.err
    (built.folder / "lake" / ".checksums").unlink()
    assert built.run("report").code == 0


def figures(workspace: Workspace) -> dict[object, Digits | str]:
    """The digits of every month, or why there are none."""
    found: dict[object, Digits | str] = {}
    for month in MONTHS:
        try:
            with workspace.open() as store:
                has_book = store.catalog.latest(month) is not None
            found[month] = workspace.digits(month) if has_book else NO_BOOK
        except TrainfareError as error:
            found[month] = str(error)
    return found


@pytest.fixture
def several_versions(built: Workspace) -> tuple[Workspace, Path]:
    """A closed month, an open one with three versions, and the catalog before the last of them."""
    built.close(OCTOBER)
    older = built.folder.with_name("older.sqlite")
    for number in (1, 2):
        Store.open(built.folder).catalog.dispose()
        shutil.copyfile(built.folder / "catalog.sqlite", older)
        built.write_bill(NOVEMBER, company.restated(company.lines(NOVEMBER), "gpu-1", f"{number}"))
        built.build()
    with closing(sqlite3.connect(built.folder / "catalog.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return built, older


@pytest.mark.services
@pytest.mark.soak
def test_a_random_fault_is_reported_or_harmless(several_versions: tuple[Workspace, Path]) -> None:
    workspace, older = several_versions
    soak.announce("faults", FAULTS)
    chance = random.Random(soak.SEED)
    faults, expected, seen = Faults(workspace.folder, chance, older), figures(workspace), Counter[str]()
    assert all(isinstance(one, dict) for one in expected.values())
    for number in range(FAULTS):
        fault = faults.cause()
        fresh_process()
        found = figures(workspace)
        for month in MONTHS:
            assert isinstance(found[month], str) or found[month] == expected[month], f"{number}: {fault}"
        verified = workspace.run("verify")
        assert "Traceback" not in verified.err, f"{number}: {fault}\n{verified.err}"
        must_be_reported = fault.must_be_reported or NO_BOOK in found.values()
        assert verified.code == 2 or not must_be_reported, f"{number}: {fault}\n{verified.err}"
        seen["reported" if verified.code else "harmless"] += 1
        seen["figures refused"] += any(isinstance(one, str) for one in found.values())
        if number % 10 == 0:
            seen[_after_a_build(workspace, expected, f"{number}: {fault}")] += 1
            faults.undo_all(workspace.folder.with_name("kept"))
        else:
            faults.undo()
    print(f"{FAULTS} faults: {dict(seen)}")
    assert seen["reported"] > FAULTS // 2


@pytest.fixture(autouse=True)
def _kept(request: pytest.FixtureRequest) -> None:
    """A copy of the workspace to which a campaign returns after a build."""
    if "several_versions" in request.fixturenames:
        workspace, _ = request.getfixturevalue("several_versions")
        shutil.copytree(workspace.folder, workspace.folder.with_name("kept"))


def _after_a_build(workspace: Workspace, expected: dict[object, Digits | str], fault: str) -> str:
    """Build on top of the damage: it is refused, or the figures are those of the files."""
    fresh_process()
    ran = workspace.run("build")
    assert "Traceback" not in ran.err, f"{fault}\n{ran.err}"
    fresh_process()
    for month, digits in figures(workspace).items():
        assert isinstance(digits, str) or digits == expected[month], fault
    return "build refused" if ran.code else "build repaired or unchanged"
