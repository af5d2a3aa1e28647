"""Jobs of two clusters in the service: bare ids where they are unique, and names, partitions and QOS that are found."""

import csv
import io
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from workspace.folder import Workspace

from .server import Server, serving

BILL = (
    "BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,"
    "ServiceCategory,ServiceName,BilledCost,EffectiveCost,ResourceId\n"
    + "".join(
        "USD,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,2026-10-05T00:00:00Z,2026-10-05T04:00:00Z,Usage,Compute,VM,4,4,"
        f"n{number}\n"
        for number in (1, 2)
    )
)
HEADER = "JobID|Cluster|User|JobName|Partition|QOS|State|Start|End|AllocTRES|NodeList\n"
TIMES = "COMPLETED|2026-10-05T0{}:00:00|2026-10-05T0{}:00:00|gres/gpu=1"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Workspace(tmp_path_factory.mktemp("clusters"))
    made.write("bill.csv", BILL)
    made.write("machines.csv", "machine_id,gpus\nn1,1\nn2,1\n")
    first, second = TIMES.format(0, 1), TIMES.format(1, 4)
    made.write("a.txt", f"{HEADER}41|a|ann|tune|spot|high|{first}|n1\n7|a|ann|finetune-llama|spot|low|{second}|n1\n")
    made.write("b.txt", f"{HEADER}41|b|ben|tune|batch|high|{first}|n2\n")
    made.write(
        "trainfare.toml", "".join(f'[[source]]\npath = "{name}"\n' for name in ("bill.csv", "machines.csv", "?.txt"))
    )
    made.build()
    with serving(made.folder) as server:
        yield server


def found(server: Server, search: str) -> set[str]:
    answer = server.ask(f"/export/jobs.csv?q={quote(search)}")
    assert answer.status == 200
    return {row["job"] for row in csv.DictReader(io.StringIO(answer.text))}


def test_a_bare_id_is_accepted_everywhere_and_answers_name_the_job_in_full(clusters: Server) -> None:
    for name in ("7", "a%2F7"):
        assert clusters.ask(f"/api/v1/jobs/{name}").json["job"]["job"] == "a/7"
        assert clusters.ask(f"/api/v1/jobs/{name}").json["job"]["cost"] == "3.00"
        explained = clusters.ask(f"/api/v1/jobs/{name}/explain").json
        assert (explained["job"], explained["cost"], explained["explained"]) == ("a/7", "3.00", "3.00")
        assert clusters.ask(f"/api/v1/report?filter=job:{name}").json["overall"]["cost"] == "3.00"
        assert clusters.ask(f"/api/v1/report?filter=attempt:{name}%231").json["overall"]["cost"] == "3.00"
        page = clusters.ask(f"/jobs/{name}")
        assert (page.status, "Partition: spot" in page.text, "Name: finetune-llama" in page.text) == (200, True, True)
        assert clusters.ask(f"/cost-trace/job?job={name}").status == 200
        assert clusters.ask(f"/panels/job/categories.json?job={name}").json["rows"][0]["cost"] == "3.00"


@pytest.mark.parametrize("path", ["/api/v1/jobs/41", "/api/v1/jobs/41/explain", "/api/v1/report?filter=job:41"])
def test_an_ambiguous_id_lists_the_jobs(clusters: Server, path: str) -> None:
    answer = clusters.ask(path)
    assert answer.status == 400
    assert "Use one of a/41, b/41." in answer.text


def test_jobs_are_found_by_name_partition_and_qos(clusters: Server) -> None:
    assert found(clusters, "LLAMA") == {"a/7"}
    assert found(clusters, "tune") == {"a/41", "a/7", "b/41"}
    assert found(clusters, "batch") == {"b/41"}
    assert found(clusters, "high") == {"a/41", "b/41"}
    assert found(clusters, "a/") == {"a/41", "a/7"}
    assert found(clusters, "nothing") == set()
    rows = clusters.ask("/api/v1/jobs?sort=job_name").json["rows"]
    assert [(row["job_name"], row["partition"], row["qos"]) for row in rows] == [
        ("finetune-llama", "spot", "low"),
        ("tune", "spot", "high"),
        ("tune", "batch", "high"),
    ]
    by_name = clusters.ask("/api/v1/report?aggregate=name").json["rows"]
    assert {row["job_name"]: row["cost"] for row in by_name} == {"finetune-llama": "3.00", "tune": "2.00"}
