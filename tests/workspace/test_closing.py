"""A closed month does not change; what arrives later is an adjustment in the next open one, booked once."""

import contextlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from trainfare import closing, config
from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.web.api.asked import chosen_book
from trainfare.web.books import Shelf

from . import company
from .company import DECEMBER, NOVEMBER, OCTOBER
from .folder import Workspace

ADJUSTING_OCTOBER = "cloud adjusting 2026-10"
ADJUSTING_NOVEMBER = "cloud adjusting 2026-11"


def restate(workspace: Workspace, month: Month, by: str) -> None:
    workspace.write_bill(month, company.restated(company.lines(month), "gpu-4", by))


def add(workspace: Workspace, month: Month) -> None:
    workspace.write_bill(month, company.lines(month))
    workspace.write_jobs(month)


def charged(*months: Month) -> Decimal:
    return sum((company.total(company.lines(month)) for month in months), Decimal())


def test_a_closed_month_is_left_alone(built: Workspace) -> None:
    """Neither a restated bill, nor other jobs, nor another rule changes a digit of it."""
    built.close(OCTOBER)
    before = built.digits(OCTOBER)
    restate(built, OCTOBER, "50")
    built.write_jobs(OCTOBER, seed=2)
    rule = '[[rule]]\nname = "storage is shared"\nmatch = { category = "storage" }\namong = "all"\n'
    built.write("trainfare.toml", company.settings() + rule)
    assert built.build()[1] == "2026-10  closed with version 1; what came later is in 2026-11"
    assert built.books() == [("2026-10", 1), ("2026-11", 1), ("2026-11", 2)]
    assert built.digits(OCTOBER) == before
    built.require_sound()


def test_asking_for_a_closed_month_says_that_it_is_closed(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    assert built.run("build", "--month", OCTOBER).err == (
        "2026-10  closed with version 1; what comes later is booked in the next open month\n"
    )
    assert built.books() == [("2026-10", 1), ("2026-11", 1)]


def test_closing_alone_changes_no_open_month(built: Workspace) -> None:
    built.close(OCTOBER)
    assert built.build() == ["2026-11  nothing changed: version 1 stands", "2026-10  closed with version 1"]


def test_a_bill_of_a_closed_and_an_open_month_adjusts_by_what_it_says_of_the_closed_one(workspace: Workspace) -> None:
    """Its November changes, and then its October: only that is booked, and not October as a whole, taken back and added."""
    october, november = company.lines(OCTOBER), company.lines(NOVEMBER)
    workspace.write_one_bill({OCTOBER: october, NOVEMBER: november})
    workspace.build()
    workspace.close(OCTOBER)
    later = [*november, company.support(NOVEMBER, "9.00")]
    workspace.write_one_bill({NOVEMBER: later, OCTOBER: october})
    assert workspace.build()[0].startswith("2026-11  version 2: ")
    assert workspace.sources(NOVEMBER) == {"cloud"}
    workspace.write_one_bill({NOVEMBER: later, OCTOBER: company.restated(october, "gpu-4", "50")})
    workspace.build()
    assert workspace.total(NOVEMBER, source=ADJUSTING_OCTOBER) == Decimal(50)
    assert workspace.total(NOVEMBER) == company.total(later) + Decimal(50)
    assert workspace.run("reconcile", "--month", NOVEMBER).code == 0
    workspace.require_sound()


def test_a_later_difference_is_an_adjustment_in_the_next_open_month(built: Workspace) -> None:
    """The job that was alone on gpu-4 pays what its day cost more, a month later and by name."""
    built.close(OCTOBER)
    restate(built, OCTOBER, "50.000000000001")
    built.build()
    assert built.sources(NOVEMBER) == {"cloud", ADJUSTING_OCTOBER}
    assert built.total(NOVEMBER, source=ADJUSTING_OCTOBER) == Decimal("50.000000000001")
    assert built.total(OCTOBER) + built.total(NOVEMBER) == charged(OCTOBER, NOVEMBER) + Decimal("50.000000000001")
    header, *shares = built.digits(NOVEMBER)["shares"]
    of = {name: header.index(name) for name in ("source", "payer", "effective")}
    late = [row for row in shares if row[of["source"]] == ADJUSTING_OCTOBER and Decimal(row[of["effective"]])]
    assert [(row[of["payer"]], Decimal(row[of["effective"]])) for row in late] == [
        ("alone-2026-10#1", Decimal("50.000000000001"))
    ]
    assert built.run("reconcile", "--month", NOVEMBER).code == 0
    built.require_sound()


def test_an_adjustment_needs_no_other_charges(built: Workspace) -> None:
    """December has no bill yet, and still October's correction has a book to be in."""
    built.close(OCTOBER)
    built.close(NOVEMBER)
    restate(built, OCTOBER, "3")
    built.build()
    assert built.sources(DECEMBER) == {ADJUSTING_OCTOBER}
    assert built.total(DECEMBER) == 3


def test_an_adjustment_taken_back_is_gone(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    built.build()
    restate(built, OCTOBER, "0")
    built.build()
    assert built.sources(NOVEMBER) == {"cloud"}
    assert built.digits(NOVEMBER, 3) == built.digits(NOVEMBER, 1)


def only_adjusted(built: Workspace) -> None:
    """October and November are closed, and December has nothing but a correction of October."""
    built.close(OCTOBER)
    built.close(NOVEMBER)
    restate(built, OCTOBER, "3")
    built.build()
    assert (built.total(DECEMBER), built.sources(DECEMBER)) == (3, {ADJUSTING_OCTOBER})


WITHDRAWN = "2026-12  withdrawn with version 2: nothing is charged in it any more"


def test_a_month_of_adjustments_that_are_gone_is_withdrawn(built: Workspace) -> None:
    """The old bill is put back: December's book says so with a version without charges, and what was in it can be looked up."""
    only_adjusted(built)
    before = built.digits(DECEMBER, 1)
    restate(built, OCTOBER, "0")
    assert WITHDRAWN in built.build()
    assert built.books()[-2:] == [("2026-12", 1), ("2026-12", 2)]
    assert (built.book(DECEMBER).totals, built.digits(DECEMBER, 1)) == ((), before)
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER)
    told = built.run("diff", "--month", DECEMBER).out
    assert "version 1 -> 2" in told
    assert "alone-2026-10#1" in told
    listing = built.listing()
    assert WITHDRAWN in built.build()
    assert WITHDRAWN in built.run("build").err
    assert built.listing() == listing
    built.require_sound()


def test_it_is_withdrawn_also_where_only_that_month_is_built(built: Workspace) -> None:
    only_adjusted(built)
    restate(built, OCTOBER, "0")
    assert built.run("build", "--month", DECEMBER).err.startswith(f"{WITHDRAWN}\n")


def test_a_withdrawn_month_is_no_month_to_report(built: Workspace) -> None:
    """Who names no month gets the newest with charges; who names it is told, and can still ask for the version before."""
    only_adjusted(built)
    restate(built, OCTOBER, "0")
    built.build()
    assert "2026-11" in built.run("report").out
    do = f"  What was in it before: trainfare diff --month 2026-12 -w {built.folder}\n"
    withdrawn = "book 2026-12: version 2 withdrew it: nothing is charged in it\n"
    for command in ("report", "reconcile", "check"):
        ran = built.run(command, "--month", DECEMBER)
        assert (ran.code, ran.err) == (3, withdrawn + do), command
    ran = built.run("explain", "alone-2026-10", "--month", DECEMBER, "--version", 1)
    assert "adds up: 3.00 USD" in ran.out
    ran = built.run("close", DECEMBER)
    assert (ran.code, ran.err) == (3, f"{withdrawn}  Close it when its bill has come.\n")
    assert built.run("forecast").code == 0


def test_the_service_leaves_a_withdrawn_month_out_and_gives_its_versions(built: Workspace) -> None:
    only_adjusted(built)
    restate(built, OCTOBER, "0")
    built.build()
    with built.open() as store:
        shelf = Shelf(store, config.load(built.folder / config.FILE_NAME))
        try:
            assert [book.month for book in shelf.current()] == [OCTOBER, NOVEMBER]
            assert shelf.newest().month == NOVEMBER
            assert [chosen_book(shelf, "2026-12", version).is_withdrawn for version in (1, 2)] == [False, True]
            with pytest.raises(IncompleteError, match="there is no book of 2026-12"):
                chosen_book(shelf, "2026-12")
        finally:
            shelf.close()


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


def test_the_same_adjustment_twice_changes_nothing(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    built.build()
    listing = built.listing()
    assert built.build()[0] == "2026-11  nothing changed: version 2 stands"
    assert built.listing() == listing


def test_a_late_bill_of_a_closed_month_is_an_adjustment(built: Workspace) -> None:
    """A second file for October, and then the same without the first: what it said is taken back."""
    built.close(OCTOBER)
    late = built.write_bill(OCTOBER, [company.support(OCTOBER, "70.00")], name="late")
    built.build()
    assert built.total(NOVEMBER, source=ADJUSTING_OCTOBER) == 70
    late.unlink()
    built.build()
    assert built.sources(NOVEMBER) == {"cloud"}


def test_a_bill_taken_away_is_taken_back(built: Workspace) -> None:
    """October came in two files; one turns out to be wrong after the month was closed. One log has all jobs."""
    both = [company.jobs(month).split("\n", 1) for month in (OCTOBER, NOVEMBER)]
    built.write("jobs/2026-10.csv", "\n".join([*both[0], both[1][1]]).replace("\n\n", "\n"))
    (built.folder / "jobs" / "2026-11.csv").unlink()
    wrong = built.write_bill(OCTOBER, [company.support(OCTOBER, "70.00")], name="wrong")
    built.build()
    built.close(OCTOBER)
    wrong.unlink()
    built.build()
    assert built.total(NOVEMBER, source=ADJUSTING_OCTOBER) == -70
    assert built.total(OCTOBER) + built.total(NOVEMBER) == charged(OCTOBER, NOVEMBER)


def test_a_closed_months_bill_may_be_put_away(built: Workspace) -> None:
    """No bill speaks of October any more: that is no statement that it cost nothing."""
    built.close(OCTOBER)
    (built.folder / "bills" / "2026-10.csv").unlink()
    assert built.build()[0] == "2026-11  nothing changed: version 1 stands"


@pytest.mark.parametrize("with_a_bill", [True, False], ids=["beside a bill", "alone"])
def test_an_adjustment_stays_when_the_bill_that_made_it_is_put_away(built: Workspace, with_a_bill: bool) -> None:
    """October's restated bill is booked in December, and then put away as every bill of October is. That takes nothing back, neither
    before December is closed nor after.
    """
    only_adjusted(built)
    (built.folder / "bills" / "2026-10.csv").unlink()
    if with_a_bill:
        add(built, DECEMBER)
    built.build()
    assert built.total(DECEMBER, source=ADJUSTING_OCTOBER) == 3
    assert built.build()[0] == "2026-12  nothing changed: version 2 stands"
    assert "adds up: 3.00 USD" in built.run("explain", "alone-2026-10", "--month", DECEMBER).out
    built.close(DECEMBER)
    add(built, Month(2027, 1))
    built.build()
    restate(built, OCTOBER, "3")
    built.build()
    assert built.sources(Month(2027, 1)) == {"cloud"}
    restate(built, OCTOBER, "5")
    built.build()
    assert built.total(Month(2027, 1), source=ADJUSTING_OCTOBER) == 2
    built.require_sound()


def test_a_renamed_source_is_no_adjustment(built: Workspace) -> None:
    built.close(OCTOBER)
    built.write("trainfare.toml", company.settings().replace('"cloud"', '"aws"'))
    built.build()
    assert built.sources(NOVEMBER) == {"aws"}


def test_an_adjustment_is_booked_once(built: Workspace) -> None:
    """Restated after October was closed, booked in November; when that is closed too, December has none of it."""
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    built.build()
    built.close(NOVEMBER)
    add(built, DECEMBER)
    built.build()
    assert built.sources(DECEMBER) == {"cloud"}
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER, DECEMBER) + 50


def test_a_month_restated_twice_is_adjusted_twice(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    built.build()
    built.close(NOVEMBER)
    add(built, DECEMBER)
    restate(built, OCTOBER, "65")
    restate(built, NOVEMBER, "7")
    built.build()
    assert built.total(DECEMBER, source=ADJUSTING_OCTOBER) == 15
    assert built.total(DECEMBER, source=ADJUSTING_NOVEMBER) == 7
    for month, told in ((OCTOBER, "1178.222345678908"), (NOVEMBER, "50.00"), (DECEMBER, "15.00")):
        ran = built.run("explain", "alone-2026-10", "--month", month)
        assert f"adds up: {told} USD, and the book says {told}" in ran.out
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER, DECEMBER) + 72
    built.require_sound()


def test_what_a_month_had_before_it_was_closed_is_not_adjusted_again(built: Workspace) -> None:
    """October was restated while both months were open, so November's book was made before October's last one."""
    restate(built, OCTOBER, "50")
    built.build()
    built.close(OCTOBER)
    built.close(NOVEMBER)
    add(built, DECEMBER)
    built.build()
    assert built.sources(DECEMBER) == {"cloud"}
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER, DECEMBER) + 50


def test_the_next_open_month_is_the_next_that_is_open(built: Workspace) -> None:
    """October and December are closed, November is not: what comes late for October is in November."""
    add(built, DECEMBER)
    built.build()
    built.close(OCTOBER)
    built.close(DECEMBER)
    restate(built, OCTOBER, "50")
    built.build()
    assert built.total(NOVEMBER, source=ADJUSTING_OCTOBER) == 50
    assert [month for month, _ in built.books()] == ["2026-10", "2026-11", "2026-11", "2026-12"]
    built.close(NOVEMBER)
    add(built, Month(2027, 1))
    built.build()
    assert built.sources(Month(2027, 1)) == {"cloud"}


@pytest.mark.parametrize("restated_first", [True, False])
def test_months_may_be_closed_in_any_order(built: Workspace, restated_first: bool) -> None:
    built.close(NOVEMBER)
    restate(built, OCTOBER, "50")
    if restated_first:
        built.build()
    built.close(OCTOBER)
    add(built, DECEMBER)
    built.build()
    late = built.total(DECEMBER) - charged(DECEMBER)
    assert late == (0 if restated_first else 50)
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER, DECEMBER) + 50


def test_a_month_is_closed_once(built: Workspace) -> None:
    assert built.run("close", OCTOBER, "--note", "invoice 77").err == "2026-10 is closed with version 1.\n"
    ran = built.run("close", OCTOBER)
    assert ran.code == 2
    assert ran.err.startswith("book 2026-10: it was closed on ")
    assert "  A closed month does not change; what comes later is an adjustment in the next open month.\n" in ran.err


def test_a_month_without_a_book_cannot_be_closed(built: Workspace) -> None:
    ran = built.run("close", DECEMBER)
    told = "book 2026-12: this month has no book yet\n  Run: trainfare build --month 2026-12\n"
    assert (ran.code, ran.err) == (2, told)
    ran = built.run("close", "October")
    assert (ran.code, ran.err) == (2, "MONTH: 'October' is not a month\n  Write it as YYYY-MM, for example 2026-10.\n")


def change(workspace: Workspace, table: str, select: str) -> Path:
    """Write a file of October's book again by hand, with what `select` gives from `kept`."""
    path = workspace.folder / "lake" / workspace.book(OCTOBER).files[table]
    with contextlib.closing(DuckDB()) as engine:
        engine.table("kept", f"SELECT * FROM {parquet(path)}")
        engine.write_parquet(select, path)
    return path


RESTORE = "  Nothing was closed. Restore it from a backup: files of a book must not be changed by hand.\n"


def test_a_book_of_which_an_amount_was_changed_by_hand_is_not_closed(built: Workspace) -> None:
    """One share is one unit (10^-12) larger: reconcile sees it, and closing refuses it."""
    first = "effective + if(row_number() OVER () = 1, 0.000000000001, 0)"
    shares = change(built, "shares", f"SELECT * REPLACE ({first} AS effective) FROM kept")
    assert built.run("reconcile", "--month", OCTOBER).code == 1
    total = company.total(company.lines(OCTOBER))
    ran = built.run("close", OCTOBER)
    assert (ran.code, ran.err) == (
        2,
        f"{shares}: effective of cloud adds up to {total + Decimal('1e-12')} USD; {total} were published\n{RESTORE}",
    )
    assert not built.book(OCTOBER).closed


def test_a_book_changed_by_hand_on_both_sides_is_not_closed(built: Workspace) -> None:
    """Bill and shares agree with each other, so they tie out; but they are not what was published."""
    twice = "SELECT * REPLACE (2 * effective AS effective) FROM kept"
    paths = [change(built, table, twice) for table in ("bill_totals", "shares")]
    assert built.run("reconcile", "--month", OCTOBER).code == 0
    ran = built.run("close", OCTOBER)
    assert (ran.code, [line.split(": ")[0] for line in ran.err.splitlines()[:2]]) == (2, list(map(str, paths)))
    assert not built.book(OCTOBER).closed


def test_a_book_that_lost_rows_by_hand_is_not_closed(built: Workspace) -> None:
    """Placements have no money that would tie out."""
    before = built.book(OCTOBER).rows["book_placements"]
    path = change(built, "book_placements", "SELECT * FROM kept LIMIT (SELECT count(*) - 1 FROM kept)")
    ran = built.run("close", OCTOBER)
    assert (ran.code, ran.err) == (2, f"{path}: it has {before - 1:,} rows; {before:,} were published\n{RESTORE}")
    assert not built.book(OCTOBER).closed


def test_a_version_that_came_while_the_one_before_was_looked_at_is_not_closed(
    built: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = closing.reconcile

    def overtaken(*given: Any) -> Any:
        restate(built, OCTOBER, "50")
        built.build()
        return look(*given)

    monkeypatch.setattr(closing, "reconcile", overtaken)
    ran = built.run("close", OCTOBER)
    assert (ran.code, ran.err) == (
        3,
        "book 2026-10: version 2 was published meanwhile\n  Look at it, then close that one.\n",
    )
    assert not built.book(OCTOBER).closed
