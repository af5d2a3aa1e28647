"""A closed month does not change; later changes are an adjustment in the next open month, booked once."""

from decimal import Decimal

import pytest

from trainfare.period import Month

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


def only_adjusted(built: Workspace) -> None:
    """Close October and November; December has only an adjustment of October."""
    built.close(OCTOBER)
    built.close(NOVEMBER)
    restate(built, OCTOBER, "3")
    built.build()
    assert (built.total(DECEMBER), built.sources(DECEMBER)) == (3, {ADJUSTING_OCTOBER})


def test_a_closed_month_does_not_change(built: Workspace) -> None:
    """Neither a restated bill, nor other jobs, nor another rule changes a digit of it."""
    built.close(OCTOBER)
    before = built.digits(OCTOBER)
    restate(built, OCTOBER, "50")
    built.write_jobs(OCTOBER, seed=2)
    rule = '[[rule]]\nname = "storage is shared"\nmatch = { category = "storage" }\namong = "all"\n'
    built.write("trainfare.toml", company.settings() + rule)
    assert built.build()[1] == "2026-10  closed with version 1; later changes are in 2026-11"
    assert built.books() == [("2026-10", 1), ("2026-11", 1), ("2026-11", 2)]
    assert built.digits(OCTOBER) == before
    built.require_sound()


def test_building_a_closed_month_reports_that_it_is_closed(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    assert built.run("build", "--month", OCTOBER).err == (
        "2026-10  closed with version 1; later changes are booked in the next open month\n"
    )
    assert built.books() == [("2026-10", 1), ("2026-11", 1)]


def test_closing_alone_changes_no_open_month(built: Workspace) -> None:
    built.close(OCTOBER)
    assert built.build() == ["2026-11  unchanged: version 1", "2026-10  closed with version 1"]


def test_a_bill_of_a_closed_and_an_open_month_adjusts_only_the_change_of_the_closed_one(workspace: Workspace) -> None:
    """Its November changes, then its October. Only that change is booked, not all of October reversed and added."""
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
    """The job that held all of gpu-4 pays the difference for its day, a month later."""
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
    """December has no bill yet; October's adjustment opens its book."""
    built.close(OCTOBER)
    built.close(NOVEMBER)
    restate(built, OCTOBER, "3")
    built.build()
    assert built.sources(DECEMBER) == {ADJUSTING_OCTOBER}
    assert built.total(DECEMBER) == 3


def test_a_reversed_adjustment_is_gone(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    built.build()
    restate(built, OCTOBER, "0")
    built.build()
    assert built.sources(NOVEMBER) == {"cloud"}
    assert built.digits(NOVEMBER, 3) == built.digits(NOVEMBER, 1)


def test_the_same_adjustment_twice_changes_nothing(built: Workspace) -> None:
    built.close(OCTOBER)
    restate(built, OCTOBER, "50")
    built.build()
    listing = built.listing()
    assert built.build()[0] == "2026-11  unchanged: version 2"
    assert built.listing() == listing


def test_a_late_bill_of_a_closed_month_is_an_adjustment(built: Workspace) -> None:
    """A second file for October arrives, and is removed again: its charges are reversed."""
    built.close(OCTOBER)
    late = built.write_bill(OCTOBER, [company.support(OCTOBER, "70.00")], name="late")
    built.build()
    assert built.total(NOVEMBER, source=ADJUSTING_OCTOBER) == 70
    late.unlink()
    built.build()
    assert built.sources(NOVEMBER) == {"cloud"}


def test_charges_of_a_removed_bill_are_reversed(built: Workspace) -> None:
    """October has two files; one turns out to be wrong after the month was closed. One log has all jobs."""
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


def test_the_bill_of_a_closed_month_may_be_removed(built: Workspace) -> None:
    """No bill covers October any more; that does not mean that it cost nothing."""
    built.close(OCTOBER)
    (built.folder / "bills" / "2026-10.csv").unlink()
    assert built.build()[0] == "2026-11  unchanged: version 1"


@pytest.mark.parametrize("with_a_bill", [True, False], ids=["with a bill", "alone"])
def test_an_adjustment_stays_when_its_bill_is_removed(built: Workspace, with_a_bill: bool) -> None:
    """October's restated bill is booked in December, and then removed like every bill of October. That reverses
    nothing, neither before December is closed nor after.
    """
    only_adjusted(built)
    (built.folder / "bills" / "2026-10.csv").unlink()
    if with_a_bill:
        add(built, DECEMBER)
    built.build()
    assert built.total(DECEMBER, source=ADJUSTING_OCTOBER) == 3
    assert built.build()[0] == f"2026-12  unchanged: version {2 if with_a_bill else 1}"
    assert "Sum of the parts: 3.00 USD" in built.run("explain", "alone-2026-10", "--month", DECEMBER).out
    assert built.run("close", DECEMBER, "--without-bill").code == 0
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
    """October is restated after closing and booked in November; when that is closed, too, December has none of it."""
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
    for month, amount in ((OCTOBER, "1178.222345678908"), (NOVEMBER, "50.00"), (DECEMBER, "15.00")):
        ran = built.run("explain", "alone-2026-10", "--month", month)
        assert f"Sum of the parts: {amount} USD. Published: {amount}." in ran.out
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER, DECEMBER) + 72
    built.require_sound()


def test_changes_before_closing_are_not_adjusted_again(built: Workspace) -> None:
    """October was restated while both months were open, so November's book is older than October's last version."""
    restate(built, OCTOBER, "50")
    built.build()
    built.close(OCTOBER)
    built.close(NOVEMBER)
    add(built, DECEMBER)
    built.build()
    assert built.sources(DECEMBER) == {"cloud"}
    assert sum(map(built.total, (OCTOBER, NOVEMBER, DECEMBER))) == charged(OCTOBER, NOVEMBER, DECEMBER) + 50
