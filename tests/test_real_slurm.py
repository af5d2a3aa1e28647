"""A real Slurm is driven through what happens to training jobs, and what it recorded is read.

What was driven is known (which job, how often, on which nodes, how many GPUs), and the seconds are compared with the
clock of the driver and with the seconds that Slurm gives for each of its records.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from services import slurm_cluster
from services.slurm_cluster import NODE_GPUS, SlurmCluster

from trainfare.cli import main
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.job_ids import native_id
from trainfare.sources.head import read_head
from trainfare.sources.schedulers import sacct, sacct_json

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(slurm_cluster.missing() is not None, reason=str(slurm_cluster.missing())),
]

ZONE = "Europe/Berlin"
COLUMNS = (
    "JobIDRaw,JobID,JobName,User,Account,WCKey,QOS,Partition,Cluster,State,Submit,Start,End,ElapsedRaw,Suspended,"
    "NNodes,NodeList,AllocTRES,Comment,SubmitLine,WorkDir,DBIndex"
)
CLOCK_SECONDS = 3
"""How far a record may be from the driver's clock: a command, a scheduling pass and whole seconds lie between."""


@dataclass(frozen=True)
class RealCluster:
    """What a cluster wrote about the jobs that were driven through it."""

    sacct: Path
    """`sacct --duplicates --parsable2`, in local time of ZONE."""
    sacct_json: Path
    seconds: dict[tuple[str, str], list[tuple[int, int]]]
    """Start and end of each record as Slurm counts them since 1970, by job and state; 0 is still running."""
    jobs: dict[str, str]
    """Job number by what was done to the job."""
    nodes: dict[str, int]
    """GPUs by node."""
    clock: dict[str, float]
    """When something was done, by the driver's clock."""
    home: Path
    """Where the cluster lived."""


@pytest.fixture(scope="module")
def placements_of_real_cluster(tmp_path_factory: pytest.TempPathFactory) -> RealCluster:
    """Drive a real cluster once and give what it wrote, for every test in here."""
    folder = tmp_path_factory.mktemp("slurm")
    with slurm_cluster.running() as cluster:
        jobs, clock = drive(cluster)
        export = ("sacct", "--allusers", "--duplicates", "--starttime=now-1hour", "--endtime=now")
        (folder / "sacct.txt").write_text(cluster.call(*export, "--parsable2", f"--format={COLUMNS}", TZ=ZONE))
        (folder / "sacct.json").write_text(cluster.call(*export, "--json"))
        seconds: dict[tuple[str, str], list[tuple[int, int]]] = {}
        short = ("--allocations", "--noheader", "--parsable2", "--format=JobID,State,Start,End")
        for line in cluster.call(*export, *short, SLURM_TIME_FORMAT="%s").splitlines():
            job, state, start, end = line.split("|")
            if start != "Unknown":
                spans = seconds.setdefault((job, state.split()[0]), [])
                spans.append((int(start), 0 if end == "Unknown" else int(end)))
    files = folder / "sacct.txt", folder / "sacct.json"
    return RealCluster(*files, seconds, jobs, dict(NODE_GPUS), clock, cluster.folder)


def drive(cluster: SlurmCluster) -> tuple[dict[str, str], dict[str, float]]:
    """Put jobs through everything that matters for cost; give their numbers and the moments of the deeds."""
    jobs: dict[str, str] = {}
    clock: dict[str, float] = {}
    ondemand = ("--partition=ondemand", "--account=vision", "--time=5")

    def deed(name: str, *command: str) -> None:
        clock[name] = time.time()
        cluster.call("scontrol", *command)

    comment = "--comment=project=ads;run_id=mlf-42"
    jobs["completed"] = cluster.submit(
        *ondemand, "--gres=gpu:h100:2", "-c4", "--mem=8G", comment, script="sleep 3 | cat"
    )
    jobs["failed"] = cluster.submit(*ondemand, "--gres=gpu:h100:1", script="sleep 2\nexit 17")
    jobs["requeued"] = cluster.submit(*ondemand, "--gres=gpu:h100:2", "--requeue", script="sleep 5")
    jobs["suspended"] = cluster.submit(*ondemand, "--gres=gpu:h100:2", script="sleep 10")
    jobs["resized"] = cluster.submit(*ondemand, "-N2", "--gres=gpu:a100:2", script="sleep 8")
    jobs["array"] = cluster.submit(*ondemand, "--array=0-1", "--nodelist=cpu-0", script="sleep 2")
    jobs["het"] = cluster.submit(*ondemand, "--nodelist=cpu-0", ":", *ondemand, "--gres=gpu:a100:1", script="sleep 2")
    for job in ("requeued", "suspended", "resized"):
        cluster.wait(jobs[job], "RUNNING")
    time.sleep(2)
    deed("suspend", "suspend", jobs["suspended"])
    deed("requeue", "requeue", jobs["requeued"])
    time.sleep(1)
    deed("resize", "update", f"JobId={jobs['resized']}", "NumNodes=1")
    time.sleep(3)
    deed("resume", "resume", jobs["suspended"])
    for job in ("resized", "het"):
        cluster.wait(jobs[job], "COMPLETED")
    spot = ("--partition=spot", "--account=nlp", "--time=5", "--requeue")
    jobs["preempted"] = cluster.submit(*spot, "-N2", "--gres=gpu:a100:4", script="sleep 6")
    cluster.wait(jobs["preempted"], "RUNNING")
    time.sleep(3)
    clock["preempt"] = time.time()
    jobs["urgent"] = cluster.submit(*ondemand, "--nodelist=a100-0", "--gres=gpu:a100:4", script="sleep 2")
    jobs["held"] = cluster.submit(*ondemand, "--hold", script="sleep 1")
    cluster.call("scancel", jobs["held"])
    for job in ("urgent", "preempted", "completed", "requeued", "suspended"):
        cluster.wait(jobs[job], "COMPLETED")
    jobs["running"] = cluster.submit(*ondemand, "--gres=gpu:h100:8", script="sleep 600")
    cluster.wait(jobs["running"], "RUNNING")
    cluster.wait_recorded(jobs["running"], "RUNNING")
    return jobs, clock


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    engine = DuckDB()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def placements(placements_of_real_cluster: RealCluster, engine: DuckDB) -> dict[str, list[dict[str, object]]]:
    """The placements read from the text, by what was done to the job, in order of attempt and time."""
    real, problems = placements_of_real_cluster, Problems()
    assert sacct.recognize(read_head(real.sacct))
    sacct.read(engine, read_head(real.sacct), "from_text", ZONE, problems)
    assert not problems.found
    found = engine.records("SELECT * FROM from_text ORDER BY job_id, attempt, started, machine_id")
    return {name: [row for row in found if str(row["job_id"]).split("_")[0] == job] for name, job in real.jobs.items()}


def held(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Who held what, without the times."""
    return [(row["attempt"], row["machine_id"], row["gpus"], row["state"]) for row in rows]


def spans(rows: list[dict[str, object]]) -> list[tuple[int, int]]:
    """Distinct starts and ends in seconds since 1970."""
    distinct = {(_second(row["started"]), _second(row["ended"])) for row in rows}
    return sorted(distinct)


def _second(moment: object) -> int:
    return int(moment.replace(tzinfo=UTC).timestamp()) if isinstance(moment, datetime) else 0


def test_a_job_that_simply_runs(placements, placements_of_real_cluster):
    rows, real = placements["completed"], placements_of_real_cluster
    assert held(rows) == [(1, "h100-0", Decimal(2), "completed")]
    assert (rows[0]["cpus"], rows[0]["memory_gb"]) == (Decimal(4), Decimal(8))
    assert (rows[0]["owner"], rows[0]["team"], rows[0]["project"]) == ("root", "vision", "ads")
    assert rows[0]["cost_center"] == "cc-1001"
    assert spans(rows) == real.seconds[real.jobs["completed"], "COMPLETED"]


def test_a_failed_job_held_its_gpu(placements, placements_of_real_cluster):
    real = placements_of_real_cluster
    assert held(placements["failed"]) == [(1, "h100-0", Decimal(1), "failed")]
    assert spans(placements["failed"]) == real.seconds[real.jobs["failed"], "FAILED"]


def test_both_runs_of_a_requeued_job_count(placements, placements_of_real_cluster):
    rows, real = placements["requeued"], placements_of_real_cluster
    assert held(rows) == [(1, "h100-0", Decimal(2), "requeued"), (2, "h100-0", Decimal(2), "completed")]
    job = real.jobs["requeued"]
    assert spans(rows) == real.seconds[job, "REQUEUED"] + real.seconds[job, "COMPLETED"]
    assert abs(spans(rows)[0][1] - real.clock["requeue"]) <= CLOCK_SECONDS


def test_a_suspended_job_holds_its_gpus_all_the_time(placements, placements_of_real_cluster):
    rows, real = placements["suspended"], placements_of_real_cluster
    assert held(rows) == [(1, "h100-0", Decimal(2), "completed")]
    [(start, end)] = spans(rows)
    assert [(start, end)] == real.seconds[real.jobs["suspended"], "COMPLETED"]
    assert start < real.clock["suspend"] < real.clock["resume"] < end


def test_a_resized_job_holds_less_after_and_nothing_twice(placements, placements_of_real_cluster):
    rows, real = placements["resized"], placements_of_real_cluster
    two = Decimal(2)
    assert sorted(held(rows)) == [(1, "a100-0", two, "completed")] * 2 + [(1, "a100-1", two, "completed")]
    [(start, resized)] = real.seconds[real.jobs["resized"], "RESIZING"]
    [(again, end)] = real.seconds[real.jobs["resized"], "COMPLETED"]
    assert again in (start, resized)
    assert spans(rows) == [(start, resized), (resized, end)]
    assert abs(resized - real.clock["resize"]) <= CLOCK_SECONDS
    gpu_seconds = sum(row["gpus"] * (_second(row["ended"]) - _second(row["started"])) for row in rows)
    assert gpu_seconds == 4 * (resized - start) + 2 * (end - resized)


def test_both_runs_of_a_preempted_job_count(placements, placements_of_real_cluster):
    rows, real = placements["preempted"], placements_of_real_cluster
    assert held(rows) == [
        (attempt, node, Decimal(4), state)
        for attempt, state in ((1, "preempted"), (2, "completed"))
        for node in ("a100-0", "a100-1")
    ]
    job = real.jobs["preempted"]
    assert spans(rows) == real.seconds[job, "PREEMPTED"] + real.seconds[job, "COMPLETED"]
    assert abs(spans(rows)[0][1] - real.clock["preempt"]) <= CLOCK_SECONDS


def test_tasks_of_an_array_are_jobs_and_parts_of_a_het_job_are_one(placements):
    assert [row["job_id"].split("_")[1] for row in placements["array"]] == ["0", "1"]
    assert held(placements["het"]) == [(1, "a100-0", Decimal(1), "completed"), (1, "cpu-0", Decimal(0), "completed")]


def test_a_job_that_never_started_holds_nothing(placements):
    assert placements["held"] == []


def test_a_running_job_has_no_end(placements):
    assert held(placements["running"]) == [(1, "h100-0", Decimal(8), "running")]
    assert placements["running"][0]["ended"] is None


def test_no_node_is_held_beyond_its_gpus(placements, placements_of_real_cluster, engine):
    """Slurm never gives a GPU twice at one time, so neither may what we read."""
    for node, gpus in placements_of_real_cluster.nodes.items():
        most = engine.row(
            f"""SELECT max(total) FROM (
              SELECT sum(b.gpus) AS total FROM from_text a JOIN from_text b ON a.machine_id = b.machine_id
              AND b.started <= a.started AND (b.ended > a.started OR b.ended IS NULL)
              WHERE a.machine_id = '{node}' GROUP BY a.job_id, a.attempt, a.started)"""
        )[0]
        assert most <= gpus


@pytest.mark.usefixtures("placements")
def test_text_and_json_give_the_same_placements(placements_of_real_cluster, engine):
    problems = Problems()
    assert sacct_json.recognize(read_head(placements_of_real_cluster.sacct_json))
    sacct_json.read(engine, read_head(placements_of_real_cluster.sacct_json), "from_json", "UTC", problems)
    assert not problems.found
    rows = "SELECT * EXCLUDE (line) FROM {} ORDER BY job_id, attempt, started, machine_id"
    from_text = engine.rows(rows.format("from_text"))
    assert len(from_text) == 18
    assert engine.rows(rows.format("from_json")) == from_text


def test_nothing_of_the_cluster_is_left(placements_of_real_cluster):
    """The environment of every daemon names the cluster's home; no process with it is left."""
    home = str(placements_of_real_cluster.home).encode()
    environments = {process: _environment(process) for process in Path("/proc").glob("[0-9]*")}
    assert any(environments.values())
    assert not [process for process, environment in environments.items() if home in environment]
    assert not placements_of_real_cluster.home.exists()


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


CENT_A_GPU_SECOND = Decimal("0.01")


def test_every_job_is_costed_to_the_digit(placements_of_real_cluster, tmp_path, capsys):
    """Each node's bill is a cent for each second of each of its GPUs, for two hours around the jobs. So a job costs a
    cent for each GPU second that Slurm itself counts for its records, and idle has the rest, with nothing rounded.
    """
    real = placements_of_real_cluster
    first = min(start for spans in real.seconds.values() for start, _ in spans) // 3600 * 3600
    bill, machines = _bill_of_nodes(tmp_path, real.nodes, first, first + 7200), tmp_path / "machines.csv"
    machines.write_text("machine_id,gpus\n" + "".join(f"{node},{gpus}\n" for node, gpus in real.nodes.items()))
    files = ["report", str(bill), "--jobs", str(real.sacct), "--machines", str(machines), "--zone", ZONE]
    with pytest.raises(SystemExit, match="0"):
        main([*files, "--by", "job", "--per", "gpu", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    cost = {native_id(row["job"]): Decimal(row["cost"]) for row in report["rows"] if row["cost"]}
    wanted = _gpu_seconds(real, first + 7200)
    assert {job: cost[real.jobs[job]] for job in wanted} == {
        job: seconds * CENT_A_GPU_SECOND for job, seconds in wanted.items()
    }
    capacity = sum(real.nodes.values()) * 7200
    assert Decimal(report["idle"]["cost"]) == (capacity - sum(wanted.values())) * CENT_A_GPU_SECOND
    assert report["difference"] == "0.00"
    rates = {native_id(row["job"]): row["rate"] for row in report["rows"] if row["rate"]}
    assert rates[real.jobs["preempted"]] == "36.00"


def _bill_of_nodes(folder: Path, nodes: dict[str, int], start: int, end: int) -> Path:
    columns = "ResourceId,BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,ServiceCategory"
    lines = [f"{columns},ChargePeriodStart,ChargePeriodEnd\n"]
    times = ",".join(datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for second in (start, end))
    for node, gpus in nodes.items():
        if gpus:
            cost = gpus * (end - start) * CENT_A_GPU_SECOND
            lines.append(f"{node},{cost},{cost},{cost},{cost},USD,Compute,{times}\n")
    (folder / "bill.csv").write_text("".join(lines))
    return folder / "bill.csv"


def _gpu_seconds(real: RealCluster, end: int) -> dict[str, int]:
    """GPU seconds by what was done to the job, from Slurm's own count of each record's seconds."""

    def held(job: str, state: str, gpus: int) -> int:
        return sum(gpus * ((stop or end) - start) for start, stop in real.seconds[real.jobs[job], state])

    [(start, resized)] = real.seconds[real.jobs["resized"], "RESIZING"]
    [(_, done)] = real.seconds[real.jobs["resized"], "COMPLETED"]
    het = real.seconds[f"{real.jobs['het']}+1", "COMPLETED"]
    return {
        "completed": held("completed", "COMPLETED", 2),
        "failed": held("failed", "FAILED", 1),
        "requeued": held("requeued", "REQUEUED", 2) + held("requeued", "COMPLETED", 2),
        "suspended": held("suspended", "COMPLETED", 2),
        "resized": 4 * (resized - start) + 2 * (done - resized),
        "preempted": held("preempted", "PREEMPTED", 8) + held("preempted", "COMPLETED", 8),
        "urgent": held("urgent", "COMPLETED", 4),
        "het": sum(stop - start for start, stop in het),
        "running": held("running", "RUNNING", 8),
    }
