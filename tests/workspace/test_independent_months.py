"""A month's book does not depend on other months: an unchanged book equals one built from scratch."""

from collections.abc import Callable
from pathlib import Path

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import furnish
from .folder import Workspace


def october_before_and_after(tmp_path: Path, add_november: Callable[[Workspace], None]) -> list[Workspace]:
    """Two workspaces without a machine file: November arrives after October in the first, with it in the second."""
    made = [furnish(tmp_path / name) for name in ("one by one", "together")]
    for workspace in made:
        workspace.write("trainfare.toml", company.settings().split('[[source]]\nname = "machines"')[0])
        for kind in ("bills", "jobs"):
            (workspace.folder / kind / "2026-11.csv").unlink()
    made[0].build()
    for workspace in made:
        add_november(workspace)
        workspace.build()
    return made


def test_october_is_the_same_when_november_comes_later(tmp_path: Path) -> None:
    def add(workspace: Workspace) -> None:
        workspace.write_bill(NOVEMBER, company.lines(NOVEMBER))
        workspace.write_jobs(NOVEMBER)

    one_by_one, together = october_before_and_after(tmp_path, add)
    assert one_by_one.books() == together.books() == [("2026-10", 1), ("2026-11", 1)]
    assert one_by_one.digits(OCTOBER) == together.digits(OCTOBER)


def test_a_machine_that_has_another_size_next_month_keeps_its_size_in_this_one(tmp_path: Path) -> None:
    """A stopped instance can come back as another type under the same id."""

    def add(workspace: Workspace) -> None:
        bill = company.bill(NOVEMBER, company.lines(NOVEMBER))
        workspace.write("bills/2026-11.csv", bill.replace("p5.48xlarge", "p5.4xlarge"))
        workspace.write_jobs(NOVEMBER)

    one_by_one, together = october_before_and_after(tmp_path, add)
    assert one_by_one.digits(OCTOBER) == together.digits(OCTOBER)


def test_an_attempt_with_other_labels_next_month_keeps_its_labels_or_causes_a_new_version(tmp_path: Path) -> None:
    """The attempt holds a machine again in November, and by then belongs to another team."""

    def add(workspace: Workspace) -> None:
        again = "gpu-1-7-2026-10,1,gpu-1,2026-11-29T00:00:00Z,2026-11-30T00:00:00Z,2,failed,zebra\n"
        workspace.write_bill(NOVEMBER, company.lines(NOVEMBER))
        workspace.write("jobs/2026-11.csv", company.jobs(NOVEMBER) + again)

    one_by_one, together = october_before_and_after(tmp_path, add)
    assert one_by_one.digits(OCTOBER) == together.digits(OCTOBER)
