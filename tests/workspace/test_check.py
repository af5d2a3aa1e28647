"""`trainfare check`: thresholds, exit codes, accepted findings and findings that are gone."""

import json

from .folder import Workspace


def codes(workspace: Workspace, *arguments: object) -> dict[str, str]:
    ran = workspace.run("check", *arguments, "--format", "json")
    assert ran.code in (0, 1), ran.err
    return {one["code"]: one["state"] for one in json.loads(ran.out)["findings"]}


def limited(workspace: Workspace, limits: str) -> None:
    settings = (workspace.folder / "trainfare.toml").read_text(encoding="utf-8").partition("\n[check]")[0]
    workspace.write("trainfare.toml", f"{settings}\n[check]\n{limits}\n")


def test_a_threshold_decides_the_exit_code_without_a_rebuild(built: Workspace) -> None:
    limited(built, "owner_coverage = 0")
    assert built.run("check").code == 0
    limited(built, "owner_coverage = 99.5")
    ran = built.run("check")
    assert ran.code == 1
    sentence = "jobs without an owner: nobody is accountable for their cost"
    assert f"! missing owners (F1-OWNERS) [new] {sentence}" in ran.out
    assert "0.00 % (threshold 99.5 %)" in ran.out


def test_a_finding_can_be_accepted_until_a_day(built: Workspace) -> None:
    ran = built.run("check", "--accept", "f1-owners", "--reason", "robots submit them", "--until", "2099-12-31")
    assert ran.code == 0
    assert "accepted until 2099-12-31: robots submit them" in ran.out
    assert codes(built)["F1-OWNERS"] == "accepted"


def test_a_finding_of_an_earlier_month_is_known_and_one_that_is_fixed_is_gone(built: Workspace) -> None:
    assert codes(built, "--month", "2026-10")["F1-OWNERS"] == "new"
    assert codes(built, "--month", "2026-11")["F1-OWNERS"] == "known"
    header, *rows = (built.folder / "jobs" / "2026-11.csv").read_text(encoding="utf-8").splitlines()
    built.write("jobs/2026-11.csv", "\n".join([f"{header},owner", *(f"{row},ana" for row in rows), ""]))
    built.build()
    assert codes(built, "--month", "2026-11")["F1-OWNERS"] == "gone"


def test_every_row_of_a_finding_can_be_listed(built: Workspace) -> None:
    rows = json.loads(built.run("check", "F1-OWNERS", "--format", "json").out)["rows"]
    assert rows
    assert {"evidence", "at_stake", "currency"} == set(rows[0])
    assert built.run("check", "F1-OWNERS", "--format", "csv").out.count("\n") == len(rows) + 1


def test_an_incomplete_acceptance_and_an_unknown_finding_are_rejected(built: Workspace) -> None:
    for arguments, message in (
        (("--accept", "F1-OWNERS"), "accepting a finding needs --accept, --reason and --until"),
        (("--accept", "F99", "--reason", "x", "--until", "2099-01-01"), "the book has no finding 'F99'"),
        (("--accept", "F1-OWNERS", "--reason", "x", "--until", "soon"), "'soon' is not a day"),
        (("--accept", "F1-OWNERS", "--reason", "x", "--until", "2020-01-01"), "2020-01-01 is in the past"),
        (("F99",), "the book has no finding 'F99'"),
    ):
        ran = built.run("check", *arguments)
        assert ran.code == 2
        assert message in ran.err
