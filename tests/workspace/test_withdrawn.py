"""A month of adjustments that are gone is withdrawn by a version without charges."""

import pytest

from trainfare.errors import IncompleteError
from trainfare.serve.api.parameters import select_book
from trainfare.serve.books import BookReader
from trainfare.settings import config

from .company import DECEMBER, NOVEMBER, OCTOBER
from .folder import Workspace
from .test_adjustments import add, charged, only_adjusted, restate

WITHDRAWN = "2026-12  withdrawn by version 2: it has no charges any more"


def test_a_month_of_adjustments_that_are_gone_is_withdrawn(built: Workspace) -> None:
    """The old bill is restored: a version without charges withdraws December, and its former version stays readable."""
    only_adjusted(built)
    before = built.digits(DECEMBER, 1)
    restate(built, OCTOBER, "0")
    assert WITHDRAWN in built.build()
    assert built.books()[-2:] == [("2026-12", 1), ("2026-12", 2)]
    assert (built.book(DECEMBER).totals, built.digits(DECEMBER, 1)) == ((), before)
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER)
    shown = built.run("diff", "--month", DECEMBER).out
    assert "version 1 -> 2" in shown
    assert "alone-2026-10#1" in shown
    listing = built.listing()
    assert WITHDRAWN in built.build()
    assert WITHDRAWN in built.run("build").err
    assert built.listing() == listing
    built.require_sound()


def test_a_month_is_withdrawn_even_if_only_that_month_is_built(built: Workspace) -> None:
    only_adjusted(built)
    restate(built, OCTOBER, "0")
    assert built.run("build", "--month", DECEMBER).err.startswith(f"{WITHDRAWN}\n")


def test_a_withdrawn_month_is_not_reported(built: Workspace) -> None:
    """By default, commands use the newest month with charges. Naming a withdrawn month is an error."""
    only_adjusted(built)
    restate(built, OCTOBER, "0")
    built.build()
    assert "2026-11" in built.run("report").out
    do = f"  See the previous version with: trainfare diff --month 2026-12 -w {built.folder}\n"
    withdrawn = "book 2026-12: withdrawn by version 2: it has no charges\n"
    for command in ("report", "reconcile", "check"):
        ran = built.run(command, "--month", DECEMBER)
        assert (ran.code, ran.err) == (3, withdrawn + do), command
    ran = built.run("explain", "alone-2026-10", "--month", DECEMBER, "--version", 1)
    assert "Sum of the parts: 3.00 USD" in ran.out
    ran = built.run("close", DECEMBER)
    assert (ran.code, ran.err) == (3, f"{withdrawn}  Close it when its bill has arrived.\n")
    assert built.run("forecast").code == 0


def test_the_service_omits_a_withdrawn_month_and_serves_its_versions(built: Workspace) -> None:
    only_adjusted(built)
    restate(built, OCTOBER, "0")
    built.build()
    with built.open() as store:
        book_reader = BookReader(store, config.load(built.folder / config.FILE_NAME))
        try:
            assert [book.month for book in book_reader.current()] == [OCTOBER, NOVEMBER]
            assert book_reader.newest().month == NOVEMBER
            assert [select_book(book_reader, "2026-12", version).is_withdrawn for version in (1, 2)] == [False, True]
            with pytest.raises(IncompleteError, match="no book for 2026-12"):
                select_book(book_reader, "2026-12")
        finally:
            book_reader.close()


def test_a_withdrawn_month_comes_back_with_its_bill(built: Workspace) -> None:
    only_adjusted(built)
    restate(built, OCTOBER, "0")
    built.build()
    restate(built, OCTOBER, "3")
    built.build()
    assert built.digits(DECEMBER, 3)["shares"] == built.digits(DECEMBER, 1)["shares"]
    restate(built, OCTOBER, "0")
    add(built, DECEMBER)
    built.build()
    assert built.total(DECEMBER) == charged(DECEMBER)
    built.close(DECEMBER)
    built.require_sound()
