"""Closing a month: once, and only as it was published."""

import contextlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from trainfare.books import close
from trainfare.engine.duckdb import DuckDB, parquet

from . import company
from .company import DECEMBER, NOVEMBER, OCTOBER
from .folder import Workspace
from .test_adjustments import restate


def test_a_month_is_closed_once(built: Workspace) -> None:
    assert built.run("close", OCTOBER, "--note", "invoice 77").err == "2026-10 is closed with version 1.\n"
    ran = built.run("close", OCTOBER)
    assert ran.code == 2
    assert ran.err.startswith("book 2026-10: it was closed on ")
    assert (
        "  A closed month does not change. Later charges are booked as an adjustment in the next open month.\n"
        in ran.err
    )


def test_a_month_without_a_book_cannot_be_closed(built: Workspace) -> None:
    ran = built.run("close", DECEMBER)
    message = "book 2026-12: this month has no book yet\n  Run: trainfare build --month 2026-12\n"
    assert (ran.code, ran.err) == (2, message)
    ran = built.run("close", "October")
    assert (ran.code, ran.err) == (2, "MONTH: 'October' is not a month\n  Write it as YYYY-MM, for example 2026-10.\n")


def change(workspace: Workspace, table: str, select: str) -> Path:
    """Overwrite a file of October's book with the result of `select` from `original`."""
    path = workspace.folder / "lake" / workspace.book(OCTOBER).files[table]
    with contextlib.closing(DuckDB()) as engine:
        engine.table("original", f"SELECT * FROM {parquet(path)}")
        engine.write_parquet(select, path)
    return path


RESTORE = "  Nothing was closed. Restore the file from a backup: files of a book must not be changed by hand.\n"


def test_a_book_with_an_amount_changed_by_hand_is_not_closed(built: Workspace) -> None:
    """One share is one unit (10^-12) larger: even if the digests are recorded again, closing is refused."""
    first = "effective + if(row_number() OVER () = 1, 0.000000000001, 0)"
    shares = change(built, "shares", f"SELECT * REPLACE ({first} AS effective) FROM original")
    assert f"{shares}: the file is damaged" in built.run("close", OCTOBER).err
    built.forget_digests()
    assert built.run("reconcile", "--month", OCTOBER).code == 1
    total = company.total(company.lines(OCTOBER))
    ran = built.run("close", OCTOBER)
    assert (ran.code, ran.err) == (
        2,
        f"{shares}: effective of cloud adds up to {total + Decimal('1e-12')} USD; {total} was published\n{RESTORE}",
    )
    assert not built.book(OCTOBER).closed


def test_a_book_changed_by_hand_on_both_sides_is_not_closed(built: Workspace) -> None:
    """Bill and shares agree, so they tie out; but they are not what was published."""
    twice = "SELECT * REPLACE (2 * effective AS effective) FROM original"
    paths = [change(built, table, twice) for table in ("bill_totals", "shares")]
    assert built.run("reconcile", "--month", OCTOBER).code == 2
    built.forget_digests()
    assert built.run("reconcile", "--month", OCTOBER).code == 0
    ran = built.run("close", OCTOBER)
    assert (ran.code, [line.split(": ")[0] for line in ran.err.splitlines()[:2]]) == (2, list(map(str, paths)))
    assert not built.book(OCTOBER).closed


def test_a_book_that_lost_rows_by_hand_is_not_closed(built: Workspace) -> None:
    """Placements have no money that would tie out."""
    before = built.book(OCTOBER).rows["book_placements"]
    path = change(built, "book_placements", "SELECT * FROM original LIMIT (SELECT count(*) - 1 FROM original)")
    assert f"{path}: the file is damaged" in built.run("close", OCTOBER).err
    built.forget_digests()
    ran = built.run("close", OCTOBER)
    assert (ran.code, ran.err) == (2, f"{path}: it has {before - 1:,} rows; {before:,} were published\n{RESTORE}")
    assert not built.book(OCTOBER).closed


def test_a_version_published_during_the_check_is_not_closed(built: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    original = close.reconcile

    def overtaken(*arguments: Any) -> Any:
        restate(built, OCTOBER, "50")
        built.build()
        return original(*arguments)

    monkeypatch.setattr(close, "reconcile", overtaken)
    ran = built.run("close", OCTOBER)
    assert (ran.code, ran.err) == (
        3,
        "book 2026-10: version 2 was published in the meantime\n  Review it, then close that version.\n",
    )
    assert not built.book(OCTOBER).closed


def test_months_are_closed_in_order(built: Workspace) -> None:
    ran = built.run("close", NOVEMBER)
    message = "book 2026-11: earlier months are still open: 2026-10\n  Close them first: trainfare close 2026-10\n"
    assert (ran.code, ran.err) == (3, message)
    built.close(OCTOBER)
    built.close(NOVEMBER)


def test_a_month_without_a_bill_is_closed_only_on_request(built: Workspace) -> None:
    built.close(OCTOBER)
    built.close(NOVEMBER)
    restate(built, OCTOBER, "3")
    built.build()
    ran = built.run("close", DECEMBER)
    assert ran.code == 3
    assert ran.err.startswith("book 2026-12: this month has no bill, only ledgers or adjustments\n")
    assert built.run("close", DECEMBER, "--without-bill").code == 0


def test_closing_shows_first_what_it_freezes(built: Workspace) -> None:
    ran = built.run("close", OCTOBER, "--dry-run")
    assert ran.code == 0
    for shown in ("cost by payer", "attempt", "idle", "open findings"):
        assert shown in ran.out
    assert not built.book(OCTOBER).closed
    assert built.run("close", OCTOBER).out == ran.out


def test_a_reopened_month_gets_new_rules_and_its_adjustments_are_gone(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    built.build()
    assert built.total(NOVEMBER, source="cloud adjusting 2026-10") == 50
    ran = built.run("reopen", OCTOBER, "--note", "wrong rule")
    assert (ran.code, ran.err) == (
        0,
        "2026-10 is open again; it was closed with version 1. Build, review, and close it.\n",
    )
    built.build()
    assert built.sources(NOVEMBER) == {"cloud"}
    assert built.total(OCTOBER) == company.total(company.lines(OCTOBER)) + 50
    with built.open() as store:
        entries = [(row.what, json.loads(row.details)) for row in store.catalog.audit.entries()]
    assert ("month reopened", {"month": "2026-10", "version": 1, "note": "wrong rule"}) in entries
    assert built.run("verify").code == 0
    built.close(OCTOBER)
    assert built.book(OCTOBER).version == 2
    assert built.run("verify").code == 0
    built.require_sound()


def test_only_the_last_closed_month_is_reopened_and_only_with_a_reason(built: Workspace) -> None:
    ran = built.run("reopen", OCTOBER, "--note", "x")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "book 2026-10: this month is not closed")
    built.close(OCTOBER)
    built.close(NOVEMBER)
    ran = built.run("reopen", OCTOBER, "--note", "x")
    assert (ran.code, ran.err) == (
        3,
        "book 2026-10: later months are closed, and their books may adjust it: 2026-11\n"
        "  Reopen the last one first: trainfare reopen 2026-11\n",
    )
    assert built.run("reopen", NOVEMBER, "--note", " ").code == 2
    assert built.book(NOVEMBER).closed
