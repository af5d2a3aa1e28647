"""Concurrent builds: one wins, the others report it, and nothing breaks."""

from pathlib import Path

import pytest

from trainfare.books.build import build_books
from trainfare.errors import IncompleteError
from trainfare.settings import config

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import furnish
from .folder import Workspace
from .processes import build_together

ROUNDS = 6


def test_of_two_concurrent_builds_one_wins_and_one_reports_it(built: Workspace, tmp_path: Path) -> None:
    seen = set()
    for version in range(2, ROUNDS + 2):
        for month in (OCTOBER, NOVEMBER):
            built.write_bill(month, company.restated(company.lines(month), "gpu-1", f"{version}.{month.number}"))
        ran = build_together(built, 2)
        won = [one for one in ran if f"2026-10  version {version}: " in one.err]
        (lost,) = [one for one in ran if one not in won]
        assert [one.code for one in won] == [0]
        assert f"2026-11  version {version}: " in won[0].err
        if lost.code:
            message = f"book 2026-10: another build published version {version} while this one ran\n"
            assert (lost.code, lost.err) == (3, message + "  Run trainfare build again.\n")
        else:
            assert lost.err.startswith(f"2026-10  unchanged: version {version}\n")
        seen.add(lost.code)
        assert [built.book(month).version for month in (OCTOBER, NOVEMBER)] == [version, version]
        built.require_sound(latest=True)
    assert 3 in seen, "the builds never overlapped"

    built.build()
    assert built.unreferenced() == set()
    built.require_sound()
    fresh = furnish(tmp_path / "fresh")
    for month in (OCTOBER, NOVEMBER):
        fresh.write(f"bills/{month}.csv", (built.folder / "bills" / f"{month}.csv").read_text(encoding="utf-8"))
    fresh.build()
    assert [built.digits(month) for month in (OCTOBER, NOVEMBER)] == [fresh.digits(m) for m in (OCTOBER, NOVEMBER)]


def test_several_first_builds_can_run_at_once(workspace: Workspace, built: Workspace) -> None:
    """The workspace has no catalog and no lake yet: four builds create them, and one publishes."""
    ran = build_together(workspace, 4)
    assert {one.code for one in ran} <= {0, 3}
    assert sum("2026-10  version 1: " in one.err for one in ran) == 1
    assert workspace.books() == [("2026-10", 1), ("2026-11", 1)]
    assert [workspace.digits(m) for m in (OCTOBER, NOVEMBER)] == [built.digits(m) for m in (OCTOBER, NOVEMBER)]


def test_a_slow_build_does_not_publish_over_one_that_saw_newer_files(built: Workspace) -> None:
    """The first has read the bill when it is restated; a second build reads and publishes the restated one."""
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))

    def overtake(message: str) -> None:
        if message == "reading bills":
            built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "2"))
            built.build()

    settings = config.load(built.folder / "trainfare.toml")
    with built.open() as store, pytest.raises(IncompleteError, match="another build published version 2"):
        build_books(settings, store, progress=overtake)
    assert built.total(OCTOBER) == company.total(company.lines(OCTOBER)) + 2


def test_a_month_closed_while_it_is_built_stays_as_it_was_closed(built: Workspace) -> None:
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))

    def close(message: str) -> None:
        if message == "writing 2026-10":
            built.close(OCTOBER)

    settings = config.load(built.folder / "trainfare.toml")
    with built.open() as store, pytest.raises(IncompleteError, match="the month is closed, with version 1"):
        build_books(settings, store, progress=close)
    built.build()
    assert built.total(NOVEMBER, source="cloud adjusting 2026-10") == 1
