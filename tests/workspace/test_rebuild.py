"""Building again: unchanged months stay as they are; a restated month gets a new version next to the old one."""

import json
from decimal import Decimal

from trainfare.period import Month

from . import company
from .company import DECEMBER, NOVEMBER, OCTOBER
from .conftest import furnish
from .folder import Workspace

FIRST = [("2026-10", 1), ("2026-11", 1)]
NOTHING = ["2026-10  unchanged: version 1", "2026-11  unchanged: version 1"]


def difference(workspace: Workspace, month: Month) -> list[dict[str, str]]:
    ran = workspace.run("diff", "--month", month, "--format", "json")
    assert ran.code == 0, ran.err
    payers: list[dict[str, str]] = json.loads(ran.out)["payers"]
    return payers


def changes(found: list[dict[str, str]]) -> dict[tuple[str, str], Decimal]:
    return {(row["payer"], row["rule"]): Decimal(row["change"]) for row in found}


def test_the_same_build_twice_changes_nothing(workspace: Workspace) -> None:
    assert workspace.build() == [
        f"2026-10  version 1: {company.total(company.lines(OCTOBER)).normalize():,f} USD allocated (100 % of the bill)",
        f"2026-11  version 1: {company.total(company.lines(NOVEMBER)).normalize():,f} USD allocated (100 % of the bill)",
    ]
    listing, report = workspace.listing(), workspace.run("report", "--format", "json")
    assert workspace.build() == NOTHING
    assert workspace.listing() == listing
    assert workspace.run("report", "--format", "json") == report
    assert workspace.books() == FIRST


def test_reading_a_book_changes_nothing(built: Workspace) -> None:
    listing = built.listing()
    for command in ("report", "reconcile"):
        assert built.run(command) == built.run(command)
    assert built.listing() == listing


def test_two_workspaces_of_the_same_files_have_the_same_digits(built: Workspace, workspace: Workspace) -> None:
    for month in (OCTOBER, NOVEMBER):
        assert len(built.digits(month)["shares"]) > 100
    workspace.build()
    assert [workspace.digits(m) for m in (OCTOBER, NOVEMBER)] == [built.digits(m) for m in (OCTOBER, NOVEMBER)]


def test_the_hour_of_the_build_does_not_matter_if_no_figure_depends_on_it(
    built: Workspace, workspace: Workspace
) -> None:
    assert workspace.run("build", "--as-of", "2026-11-20T07:00:00").code == 0
    assert [workspace.digits(m) for m in (OCTOBER, NOVEMBER)] == [built.digits(m) for m in (OCTOBER, NOVEMBER)]


def test_a_file_delivered_again_changes_nothing(built: Workspace) -> None:
    before = built.listing()
    built.write_bill(OCTOBER, company.lines(OCTOBER))
    built.write_jobs(NOVEMBER)
    assert built.build() == NOTHING
    assert built.listing() == before


def test_the_same_content_under_another_name_counts_once(built: Workspace) -> None:
    before = built.listing()
    built.write_bill(OCTOBER, company.lines(OCTOBER), name="october again")
    built.write_jobs(OCTOBER, name="the same jobs")
    assert built.build() == NOTHING
    assert built.listing() == before


def test_a_renamed_file_is_the_same_delivery(built: Workspace) -> None:
    bill = built.folder / "bills" / "2026-10.csv"
    bill.rename(bill.with_name("october.csv"))
    assert built.build() == NOTHING


def test_a_restated_bill_supersedes_and_the_old_book_stays_readable(built: Workspace) -> None:
    """One job held all of gpu-4 on the first, so it alone pays what that day costs more."""
    first = built.digits(OCTOBER)
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-4", "0.000000000001"))
    assert [line[:18] for line in built.build()] == ["2026-10  version 2", "2026-11  unchanged"]

    assert built.digits(OCTOBER, 1) == first
    assert built.digits(OCTOBER, 2) != first
    assert built.total(OCTOBER, 2) - built.total(OCTOBER, 1) == Decimal("0.000000000001")
    found = difference(built, OCTOBER)
    assert changes(found) == {("alone-2026-10#1", "machine"): Decimal("0.000000000001")}
    assert built.run("reconcile", "--month", OCTOBER).code == 0
    built.require_sound()


def test_a_difference_adds_up_to_the_change_of_the_total(built: Workspace) -> None:
    """Support is split by spend: restating one day changes everybody's part a little."""
    lines = [*company.lines(OCTOBER), company.support(OCTOBER, "1000.00")]
    built.write_bill(OCTOBER, lines)
    built.build()
    built.write_bill(OCTOBER, company.restated(lines, "gpu-1", "123.456789"))
    built.build()
    found = changes(difference(built, OCTOBER))
    assert len(found) > 20
    assert sum(found.values()) == built.total(OCTOBER, 3) - built.total(OCTOBER, 2) == Decimal("123.456789")
    built.require_sound()


def test_a_month_that_is_restated_back_has_its_old_digits(built: Workspace) -> None:
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "50"))
    built.build()
    built.write_bill(OCTOBER, company.lines(OCTOBER))
    built.build()
    assert built.books() == [("2026-10", 1), ("2026-10", 2), ("2026-10", 3), ("2026-11", 1)]
    assert built.digits(OCTOBER, 3) == built.digits(OCTOBER, 1)


def test_if_one_month_of_a_bill_of_two_changes_only_that_month_is_rebuilt(workspace: Workspace) -> None:
    october, november = company.lines(OCTOBER), company.lines(NOVEMBER)
    workspace.write_one_bill({NOVEMBER: november, OCTOBER: october})
    workspace.build()
    workspace.write_one_bill({NOVEMBER: [*november, company.support(NOVEMBER, "9.00")], OCTOBER: october})
    assert [line[:18] for line in workspace.build()] == ["2026-10  unchanged", "2026-11  version 2"]
    workspace.write_one_bill({NOVEMBER: november, OCTOBER: company.restated(october, "gpu-1", "0.000000000001")})
    assert [line[:18] for line in workspace.build()] == ["2026-10  version 2", "2026-11  version 3"]
    assert workspace.digits(NOVEMBER, 3) == workspace.digits(NOVEMBER, 1)
    workspace.write_one_bill({NOVEMBER: november[::-1], OCTOBER: company.restated(october, "gpu-1", "0.000000000001")})
    assert [line[:18] for line in workspace.build()] == ["2026-10  unchanged", "2026-11  unchanged"]
    workspace.require_sound()
    for month in (OCTOBER, NOVEMBER):
        assert workspace.run("reconcile", "--month", month).code == 0
    assert workspace.run("explain", "alone-2026-10", "--month", OCTOBER, "--lines").code == 0


def test_a_bill_of_the_next_month_does_not_change_this_one(built: Workspace) -> None:
    built.write_bill(DECEMBER, company.lines(DECEMBER))
    built.write_jobs(DECEMBER)
    built.build()
    assert built.books() == [*FIRST, ("2026-12", 1)]


def test_months_delivered_one_by_one_equal_months_delivered_together(built: Workspace) -> None:
    """An unchanged book must equal the book that a build from scratch would make."""
    built.write_bill(DECEMBER, company.lines(DECEMBER))
    built.write_jobs(DECEMBER)
    built.build()
    together = furnish(built.folder.with_name("together"))
    together.write_bill(DECEMBER, company.lines(DECEMBER))
    together.write_jobs(DECEMBER)
    together.build()
    for month in (OCTOBER, NOVEMBER, DECEMBER):
        assert built.digits(month) == together.digits(month)


def test_a_job_log_of_another_month_does_not_change_this_one(built: Workspace) -> None:
    built.write_jobs(NOVEMBER, seed=2)
    built.build()
    assert built.books() == [*FIRST, ("2026-11", 2)]


def test_a_changed_rule_is_a_new_version_and_the_difference_names_it(built: Workspace) -> None:
    rule = '[[rule]]\nname = "storage is shared"\nmatch = { category = "storage" }\namong = "all"\n'
    built.write("trainfare.toml", company.settings() + rule)
    built.build()
    assert built.books() == [("2026-10", 1), ("2026-10", 2), ("2026-11", 1), ("2026-11", 2)]
    found = difference(built, OCTOBER)
    assert {row["rule"] for row in found} == {"storage is shared", "tagged team"}
    assert sum(changes(found).values()) == 0
    built.require_sound()


def test_a_comment_in_the_settings_changes_nothing(built: Workspace) -> None:
    built.write("trainfare.toml", "# October was expensive.\n" + company.settings())
    assert built.build() == NOTHING


def test_one_month_can_be_built_alone(built: Workspace) -> None:
    for month in (OCTOBER, NOVEMBER):
        built.write_bill(month, company.restated(company.lines(month), "gpu-1", "1"))
    assert built.run("build", "--month", NOVEMBER).code == 0
    assert built.books() == [*FIRST, ("2026-11", 2)]
    ran = built.run("build", "--month", DECEMBER)
    assert (ran.code, ran.err) == (
        3,
        "bill: there are no charges for 2026-12\n  The bills cover 2026-10, 2026-11.\n",
    )


def test_a_missing_source_is_reported_and_the_book_stays(built: Workspace) -> None:
    for path in (built.folder / "bills").iterdir():
        path.unlink()
    (built.folder / "machines.csv").unlink()
    ran = built.run("build")
    assert ran.code == 2
    assert f"{built.folder}/bills/*.csv: no file matches this pattern\n" in ran.err
    assert f"{built.folder}/machines.csv: there is no such file\n" in ran.err
    assert built.books() == FIRST
    built.require_sound()


def test_a_month_whose_bill_was_removed_keeps_its_book(built: Workspace) -> None:
    (built.folder / "bills" / "2026-10.csv").unlink()
    gone = "2026-10  unchanged: no source has charges for it any more"
    assert built.build() == [NOTHING[1], gone]
    assert built.run("report", "--month", OCTOBER).code == 0


def test_a_bad_bill_is_rejected_completely_and_the_book_stays(built: Workspace) -> None:
    """Nothing of a rejected delivery is stored, not even the good file next to the bad one."""
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    built.write("bills/2026-11.csv", company.bill(NOVEMBER, company.lines(NOVEMBER)).replace("USD", "dollars", 1))
    ran = built.run("build")
    assert ran.code == 2
    assert "2026-11.csv:2: BillingCurrency 'dollars' is not a currency code\n" in ran.err
    assert built.books() == FIRST
    with built.open() as store:
        store.sweep()
    assert built.unreferenced() == set()
    built.require_sound()
