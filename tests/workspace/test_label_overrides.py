"""Labels that people give to jobs afterwards: audited, and in effect with the next build of an open month."""

import csv
import io
import json
from decimal import Decimal

import pytest

from . import company
from .company import ALONE, NOVEMBER, OCTOBER, TEAMS
from .folder import Workspace

BY_TEAM = '\n[[rule]]\nname = "storage of teams"\nmatch = { category = "storage" }\namong = "tag:team"\n'


def costs(workspace: Workspace, by: str = "team", month: object = OCTOBER) -> dict[str, Decimal]:
    ran = workspace.run("report", "--by", by, "--month", month, "--format", "json")
    assert ran.code == 0, ran.err
    return {row[by]: Decimal(row["cost"]) for row in json.loads(ran.out)["rows"]}


def as_logged() -> dict[str, str]:
    return {row["job_id"]: row["team"] for row in csv.DictReader(io.StringIO(company.jobs(OCTOBER)))}


def compute_of(workspace: Workspace, job: str) -> Decimal:
    """What a job pays for machines, which does not depend on labels. Its team's storage stays with the team."""
    ran = workspace.run("report", "--by", "job,category", "--month", OCTOBER, "--format", "json")
    rows = json.loads(ran.out)["rows"]
    (cost,) = (Decimal(row["cost"]) for row in rows if (row["job"], row["category"]) == (job, "compute"))
    return cost


@pytest.fixture
def built(workspace: Workspace) -> Workspace:
    workspace.write("trainfare.toml", company.settings() + BY_TEAM)
    workspace.write_bill(NOVEMBER, company.lines(NOVEMBER))
    workspace.write_jobs(NOVEMBER)
    workspace.build()
    return workspace


def test_a_given_label_counts_after_the_next_build_of_its_month_alone(built: Workspace) -> None:
    job = f"gpu-1-3-{OCTOBER}"
    teams = as_logged()
    other = next(team for team in TEAMS if team != teams[job])
    logged, moved = costs(built), compute_of(built, job)
    ran = built.run("label", job, f"team={other}", "reviewed=yes", "--note", "moved in October")
    assert (ran.code, f"{job}: in effect for {OCTOBER} after: trainfare build" in ran.err) == (0, True)
    assert costs(built) == logged
    before = built.books()
    built.build()
    assert built.books() == sorted([*before, (str(OCTOBER), 2)])
    expected = {teams[job]: logged[teams[job]] - moved, other: logged[other] + moved}
    assert costs(built) == logged | expected
    assert costs(built, "reviewed")["yes"] == costs(built, "job")[job]
    explained = json.loads(built.run("explain", job, "--month", OCTOBER, "--format", "json").out)
    assert explained["cost"] == explained["explained"]
    with built.open() as store:
        (entry,) = [one for one in store.catalog.audit.entries() if one.what == "labels of a job set"]
    assert json.loads(entry.details)["labels"] == {"reviewed": "yes", "team": other}
    listed = json.loads(built.run("label", job, "--format", "json").out)["labels"]
    assert [(one["key"], one["value"], one["note"]) for one in listed] == [
        ("team", other, "moved in October"),
        ("reviewed", "yes", "moved in October"),
    ]
    assert built.run("label", job, "team=", "reviewed=").code == 0
    built.build()
    assert costs(built) == logged


def test_a_closed_month_keeps_its_labels(built: Workspace) -> None:
    built.close(OCTOBER)
    before = costs(built)
    ran = built.run("label", ALONE + f"-{OCTOBER}", "team=vision")
    assert f"{OCTOBER} is closed and keeps its labels" in ran.err
    books = built.books()
    built.build()
    assert (built.books(), costs(built)) == (books, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody", "team=a"), "there is no job 'nobody'"),
        ((f"{ALONE}-{OCTOBER}", "team"), "'team' is not KEY=VALUE"),
        ((f"{ALONE}-{OCTOBER}", "team=a", "team=b"), "team is given twice"),
    ],
)
def test_a_wrong_label_changes_nothing(built: Workspace, arguments: tuple[str, ...], message: str) -> None:
    ran = built.run("label", *arguments)
    assert (ran.code, message in ran.err) == (2, True)
    with built.open() as store:
        assert store.catalog.label_overrides.history() == []
