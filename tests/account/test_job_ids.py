"""A job is named by its cluster and its id there, and may be called by any end of that name that only one job has."""

import json
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from trainfare.cli.main import cli
from trainfare.engine.choice import embedded
from trainfare.errors import TrainfareError
from trainfare.job_ids import cluster_of, job_id, native_id
from trainfare.query import job_names

NODES = ("gpu01", "gpu02", "gpu03", "gpu04")
FIFTH = datetime(2026, 10, 5)
COLUMNS = {
    "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-10-01T00:00:00Z",
    "BillingPeriodEnd": "2026-11-01T00:00:00Z",
    "ChargePeriodStart": "2026-10-01T00:00:00Z",
    "ChargePeriodEnd": "2026-11-01T00:00:00Z",
    "ChargeCategory": "Usage",
    "ServiceCategory": "Compute",
    "ServiceName": "VM",
    **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"), "744"),
}
"""A machine with one GPU costs 1.00 an hour, for the whole month."""


@dataclass(frozen=True)
class Run:
    """A line of sacct; times are hours after the fifth of October."""

    job: str
    user: str
    start: float
    end: float
    node: str
    submit: float | None = None
    cluster: str | None = None
    state: str = "COMPLETED"

    def line(self) -> str:
        submit = self.start if self.submit is None else self.submit
        times = (_clock(submit), _clock(self.start), _clock(self.end))
        return "|".join((self.job, self.cluster or "", self.user, self.state, *times, "gres/gpu=1", self.node))


def _clock(hours: float) -> str:
    return f"{FIFTH + timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}"


def log(runs: Iterable[Run], submits: bool = True) -> str:
    """The output of sacct, with or without the column Submit."""
    header = "JobID|Cluster|User|State|Submit|Start|End|AllocTRES|NodeList"
    lines = [header, *(run.line() for run in runs)]
    if not submits:
        lines = ["|".join(cell for at, cell in enumerate(line.split("|")) if at != 4) for line in lines]
    return "\n".join([*lines, ""])


def workspace(folder: Path, logs: dict[str, str], names: dict[str, str] | None = None, **files: str) -> Path:
    """A workspace with a bill of four machines and these job logs; `names` are those of their sources."""
    bill = [",".join([*COLUMNS, "ResourceId", "Tags"]), *(",".join([*COLUMNS.values(), node, ""]) for node in NODES)]
    listed = ["machine_id,gpus", *(f"{node},1" for node in NODES)]
    written = {"bill.csv": "\n".join([*bill, ""]), "machines.csv": "\n".join([*listed, ""]), **logs}
    written |= {f"{name}.csv": text for name, text in files.items()}
    settings = ""
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
        named = f"name = {json.dumps(names[name])}\n" if names and name in names else ""
        settings += f"[[source]]\n{named}path = '{name}'\n\n"
    (folder / "trainfare.toml").write_text(settings, encoding="utf-8")
    done = run("build", folder)
    assert done.exit_code == 0, done.output
    return folder


def run(command: str, folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*command.split(), *arguments, "--workspace", str(folder)])


def report(folder: Path, by: str = "job") -> dict[Any, tuple[Decimal, Decimal, int]]:
    """Cost, wall hours and number of jobs per key."""
    done = run("report", folder, "--by", by, "--format", "json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert Decimal(answer["difference"]) == 0
    return {
        tuple(row[key] for key in by.split(",")): (Decimal(row["cost"]), Decimal(row["wall_hours"]), row["jobs"])
        for row in answer["rows"]
    }


def ids(folder: Path) -> set[str]:
    return {key for (key,) in report(folder)}


def test_the_parts_of_an_id_are_those_it_was_made_from():
    for cluster, native in (("lab", "41"), ("prod", "research/train"), (None, "41")):
        made = job_id(cluster, native)
        assert (cluster_of(made), native_id(made)) == (cluster, native)
    assert job_id("arn:eks:cluster/prod", "ns/a") == "arn:eks:cluster:prod/ns/a"
    assert native_id("lab/41@2026-10-05T06:00:00Z") == "41"


def test_an_id_does_not_change_when_a_second_cluster_is_added(tmp_path: Path):
    first = log([Run("41", "ann", 0, 2, "gpu01", cluster="a"), Run("7", "ann", 2, 3, "gpu01", cluster="a")])
    second = log([Run("41", "ben", 0, 4, "gpu02", cluster="b")])
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    alone = report(workspace(tmp_path / "one", {"a.txt": first}))
    both = report(workspace(tmp_path / "two", {"a.txt": first, "b.txt": second}))
    assert alone.keys() == {("a/41",), ("a/7",)}
    assert both == alone | {("b/41",): (Decimal(4), Decimal(4), 1)}


def test_a_named_source_takes_the_place_of_a_cluster_and_a_file_name_does_not(tmp_path: Path):
    own = "job_id,attempt,machine_id,started,ended\nrun,1,gpu0{},2026-10-05T00:00:00Z,2026-10-05T0{}:00:00Z\n"
    logs = {"east.csv": own.format(1, 1), "west.csv": own.format(2, 2), "more.csv": own.format(3, 3)}
    made = workspace(tmp_path, logs, {"east.csv": "east", "west.csv": "west"})
    assert report(made) == {
        ("east/run",): (1, 1, 1),
        ("west/run",): (2, 2, 1),
        ("run",): (3, 3, 1),
    }
    # A book keeps the names that it was built with.
    (tmp_path / "trainfare.toml").write_text("[[source]]\npath = 'bill.csv'\n", encoding="utf-8")
    explained = run("explain", made, "east/run", "--format", "json")
    assert json.loads(explained.stdout)["cost"] == "1.00", explained.output


def test_a_column_cluster_of_our_own_file_is_the_first_part_of_the_id(tmp_path: Path):
    own = "job_id,attempt,machine_id,started,ended,cluster\nrun,1,gpu01,2026-10-05T00:00:00Z,2026-10-05T01:00:00Z,{}\n"
    assert ids(workspace(tmp_path, {"a.csv": own.format("x"), "b.csv": own.format(" ")})) == {"x/run", "run"}


@pytest.mark.parametrize("submits", [True, False], ids=["with submit times", "without"])
def test_one_id_of_two_people_is_two_jobs(tmp_path: Path, submits: bool):
    """Three hours at 1.33 if they were one job."""
    runs = [Run("7", "ann", 0, 2, "gpu01"), Run("7", "bob", 1, 3, "gpu02", state="FAILED")]
    made = workspace(tmp_path, {"sacct.txt": log(runs, submits)})
    assert report(made, "job,owner,state") == {
        ("7@2026-10-05T00:00:00Z", "ann", "completed"): (2, 2, 1),
        ("7@2026-10-05T01:00:00Z", "bob", "failed"): (2, 2, 1),
    }


def test_an_id_that_a_cluster_uses_again_is_another_job_and_a_requeued_one_is_not(tmp_path: Path):
    lost, again = Run("7", "ann", 0, 2, "gpu01", state="NODE_FAIL"), Run("7", "ann", 5 * 24, 122, "gpu01", submit=2)
    later = Run("7", "ann", 15 * 24, 15 * 24 + 4, "gpu02")
    made = workspace(tmp_path, {"sacct.txt": log([lost, again, later])})
    assert report(made, "attempt") == {
        ("7@2026-10-05T00:00:00Z#1",): (2, 2, 1),
        ("7@2026-10-05T00:00:00Z#2",): (2, 2, 1),
        ("7@2026-10-20T00:00:00Z#1",): (4, 4, 1),
    }
    (tmp_path / "near").mkdir()
    soon = Run("7", "ann", 20 * 24, 20 * 24 + 4, "gpu02", submit=122 + 7 * 24)
    assert ids(workspace(tmp_path / "near", {"sacct.txt": log([lost, again, soon])})) == {"7"}


def test_a_bare_id_is_accepted_where_it_is_unique_and_else_all_ids_are_listed(tmp_path: Path):
    logs = {
        "a.txt": log([Run("41", "ann", 0, 2, "gpu01", cluster="a"), Run("7", "ann", 2, 3, "gpu01", cluster="a")]),
        "b.txt": log([Run("41", "ben", 0, 4, "gpu02", cluster="b")]),
    }
    made = workspace(tmp_path, logs)
    for name in ("7", "a/7"):
        assert json.loads(run("explain", made, name, "--format", "json").stdout)["job"] == "a/7"
        reported = run("report", made, "--where", f"job={name}", "--format", "json")
        assert json.loads(reported.stdout)["overall"]["cost"] == "1.00", reported.output
    for name, expected in (("41", "'41' stands for 2 jobs\n  Use one of a/41, b/41."), ("1", "there is no job '1'")):
        assert expected in str(run("explain", made, name).exception)


def test_measurements_results_and_tags_may_use_bare_ids(tmp_path: Path):
    """The tag of a job that two clusters have is ambiguous, and its charge is not allocated."""
    logs = {
        "a.txt": log([Run("41", "ann", 0, 2, "gpu01", cluster="a"), Run("7", "ann", 2, 3, "gpu01", cluster="a")]),
        "b.txt": log([Run("41", "ben", 0, 4, "gpu02", cluster="b")]),
    }
    header = ",".join([*COLUMNS, "ResourceId", "Tags"])
    tagged = {**COLUMNS, "ServiceCategory": "Storage", "ServiceName": "disk"}
    lines = [
        ",".join([*tagged.values(), "", json.dumps(json.dumps({"job_id": tag})).replace('\\"', '""')])
        for tag in ("7", "A/41", "41")
    ]
    made = workspace(
        tmp_path,
        logs,
        tags="\n".join([header, *lines, ""]),
        measured="job_id,attempt,machine_id,started,ended,measure,value\n"
        "7,1,gpu01,2026-10-05T02:00:00Z,2026-10-05T03:00:00Z,gpu_busy_seconds,900\n"
        "41,1,gpu01,2026-10-05T00:00:00Z,2026-10-05T01:00:00Z,gpu_busy_seconds,900\n",
        results="job_id,metric,value,better\n7,accuracy,70,higher\na/7,accuracy,71,higher\n41,accuracy,1,higher\n",
    )
    costs = report(made)
    assert {key: cost for key, (cost, *_) in costs.items()} == {("a/7",): 745, ("a/41",): 746, ("b/41",): 4}
    done = json.loads(run("report", made, "--format", "json").stdout)
    evidence = {finding["code"]: finding["evidence"] for finding in done["findings"]}
    assert evidence["MEASURED_JOB_UNKNOWN"] == ["job 41 attempt 1, 1 measurements"]
    assert evidence["RESULT_JOB_UNKNOWN"] == ["job 41, 1 result"]


@pytest.mark.parametrize("seed", range(6))
def test_random_logs_give_the_jobs_of_the_model(tmp_path: Path, seed: int):
    """Ids of two clusters and of logs without one, reused by others and later, and requeued in between."""
    chance = random.Random(seed)
    runs: list[Run] = []
    true: dict[tuple[str | None, str, str, float], list[Run]] = defaultdict(list)
    free = dict.fromkeys(NODES, 0.0)
    for _ in range(chance.randrange(3, 9)):
        cluster, native, user = chance.choice(("a", "b", None)), chance.choice("78"), chance.choice(("ann", "bob"))
        node = chance.choice(NODES)
        earlier = [one for one in runs if (one.cluster, one.job, one.user) == (cluster, native, user)]
        over = max((one.end for one in earlier), default=0.0)
        pause = chance.choice((0, 1, 7 * 24, 7 * 24 + 1)) if earlier else chance.randrange(3)
        submit = over + pause
        start = max(free[node], submit) + chance.randrange(3)
        one = Run(native, user, start, start + chance.randrange(1, 5), node, submit, cluster)
        if one.end > 26 * 24:
            continue
        free[node] = one.end
        begun = max((key for key in true if key[:3] == (cluster, native, user)), key=lambda key: key[3], default=None)
        if begun is None or pause > 7 * 24:
            begun = (cluster, native, user, submit)
        true[begun].append(one)
        runs.append(one)
    expected: dict[str, tuple[Fraction, Fraction, int]] = {}
    for key, own in true.items():
        sharing = [other for other in true if other[:2] == key[:2]]
        name = key[1] if key[0] is None else f"{key[0]}/{key[1]}"
        if len(sharing) > 1:
            same = sorted(other[2] for other in sharing if other[3] == key[3])
            name += f"@{_clock(key[3])}Z" + (f"-{same.index(key[2]) + 1}" if same.index(key[2]) else "")
        hours = sum((Fraction(one.end - one.start) for one in own), Fraction(0))
        expected[name] = (hours, hours, 1)
    halves: dict[str, list[Run]] = {"odd": runs[::2], "even": runs[1::2]}
    logs = {}
    for name, half in halves.items():
        for cluster in dict.fromkeys(one.cluster for one in half):
            logs[f"{name}-{cluster}.txt"] = log(one for one in half if one.cluster == cluster)
    shuffled = dict(chance.sample(list(logs.items()), len(logs)))
    found = {key: value for (key,), value in report(workspace(tmp_path, shuffled)).items()}
    assert found == expected, f"seed {seed}"


def test_a_name_is_found_by_any_end_that_follows_a_slash():
    names = ("prod/ns/train", "prod/ns/other-train", "lab/41@2026-10-05T06:00:00Z", "lab/141", "41", "dev/x", "x")
    with embedded() as engine:
        engine.values("jobs", "job_id VARCHAR", [(name,) for name in names])

        def find(name: str) -> str | None:
            return job_names.find_in(engine, "jobs", name)

        assert {name: find(name) for name in names} == {name: name for name in names}
        assert find("train") == find("ns/train") == "prod/ns/train"
        assert find("lab/41") == "lab/41@2026-10-05T06:00:00Z"
        assert find("41") == "41"
        assert [find(name) for name in ("1", "rain", "ns", "", "/train", "prod/")] == [None] * 6
        engine.values("jobs", "job_id VARCHAR", [("a/x",), ("b/x",)])
        with pytest.raises(TrainfareError, match="'x' stands for 2 jobs"):
            find("x")
