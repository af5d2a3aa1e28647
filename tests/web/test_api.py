"""The API returns what the command line shows, in every format, and supports ETags."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from workspace.folder import Workspace

from .server import Server

LISTS = [
    "report",
    "trend",
    "jobs",
    "machines",
    "books",
    "reconcile",
    "findings",
    "rules",
    "forecast",
    "metrics",
    "checkpoints",
]


def test_the_report_equals_the_command_line(server: Server, company: Workspace) -> None:
    body = server.ask("/api/v1/report?window=2026-10&aggregate=team").json
    assert body == json.loads(company.run("report", "--month", "2026-10", "--format", "json").out)


def test_the_forecast_equals_the_command_line(server: Server, company: Workspace) -> None:
    body = server.ask("/api/v1/forecast?by=team").json
    assert body["rows"] == json.loads(company.run("forecast", "--by", "team", "--format", "json").out)["forecast"]
    assert (body["currency"], body["band_percent"]) == ("USD", 80)
    assert {row["state"] for row in body["rows"]} == {"complete", "forecast", "unknown"}
    assert all((row["state"] == "forecast") == (row["forecast"] is not None) for row in body["rows"])
    assert all(row["reason"] for row in body["rows"] if row["state"] == "unknown")


def test_the_measures_equal_the_command_line(server: Server, company: Workspace) -> None:
    body = server.ask("/api/v1/metrics?month=2026-10&aggregate=team,project&basis=billed").json
    command = (
        "metrics",
        "--month",
        "2026-10",
        "--by",
        "team",
        "--by",
        "project",
        "--basis",
        "billed",
        "--format",
        "json",
    )
    assert body["rows"] == json.loads(company.run(*command).out)["metrics"]
    assert {row["metric"] for row in body["rows"]} >= {"M1", "M2", "M3"}
    (only,) = {row["metric"] for row in server.ask("/api/v1/metrics?metric=M2").json["rows"]}
    assert only == "M2"


@pytest.mark.parametrize("which", ["held", "busy", "not_lost"])
def test_a_report_per_productive_hour_equals_the_command_line(server: Server, company: Workspace, which: str) -> None:
    body = server.ask(f"/api/v1/report?window=2026-10&productive={which}").json
    command = ("report", "--month", "2026-10", "--per", "productive", "--productive", which, "--format", "json")
    assert body == json.loads(company.run(*command).out)


def test_checkpoint_advice_equals_the_command_line(server: Server, company: Workspace) -> None:
    """The command also simulates the most expensive intervals; the service does not take that time."""
    body = server.ask("/api/v1/checkpoints?month=2026-10").json["rows"]
    listed = json.loads(company.run("checkpoints", "--month", "2026-10", "--format", "json").out)["checkpoints"]
    assert body == [{name: value for name, value in row.items() if name != "simulated_seconds"} for row in listed] != []


def test_estimate_errors_equal_the_command_line(server: Server, company: Workspace) -> None:
    body = server.ask("/api/v1/estimates?month=2026-10").json["rows"]
    assert body == json.loads(company.run("estimates", "--month", "2026-10", "--format", "json").out)["errors"]


def test_steps_add_up_to_the_window(server: Server) -> None:
    whole = server.ask("/api/v1/report?window=2026-10-03,2026-10-20&aggregate=team").json
    steps = server.ask("/api/v1/report?window=2026-10-03,2026-10-20&aggregate=team&step=1d").json["rows"]
    assert len({row["start"] for row in steps}) == 17
    assert sum(Decimal(row["cost"]) for row in steps) == Decimal(whole["overall"]["cost"])


def test_pages_about_idle_cost_of_two_months_can_be_read(server: Server) -> None:
    for path in ("/", "/jobs", "/efficiency", "/cost-trace"):
        for window in ("", "&from=2026-10-01&to=2026-11-30"):
            assert server.ask(f"{path}?payer=idle{window}").status == 200, path


def test_jobs_of_single_days_are_reported(server: Server) -> None:
    query = "window=2026-10&aggregate=job"
    whole = {row["job"]: row for row in server.ask(f"/api/v1/report?{query}").json["rows"]}
    days = "&filter=day:2026-10-05&filter=day:2026-10-06"
    answer = server.ask(f"/api/v1/report?{query}{days}")
    assert answer.status == 200
    window = server.ask("/api/v1/report?window=2026-10-05,2026-10-07&aggregate=job").json
    assert answer.json["rows"] == window["rows"], "the same days, as a filter and as a window"
    assert {row["job"] for row in answer.json["rows"]} < {*whole}
    assert server.ask(f"/api/v1/jobs?window=2026-10{days}").json["count"] == len(window["rows"])


def test_a_state_means_the_last_attempt_of_a_job_on_every_path(server: Server) -> None:
    states = {row["state"] for row in server.ask("/api/v1/jobs?window=2026-10&limit=1000").json["rows"]}
    machines = server.ask("/api/v1/machines?window=2026-10&limit=1000").json["rows"]
    pools = "".join(f"&filter=pool:{pool}" for pool in {row["pool"] or "(none)" for row in machines} | {"(none)"})
    assert states
    for state in states:
        found = server.ask(f"/api/v1/jobs?window=2026-10&limit=1000&filter=state:{state}").json
        assert {row["state"] for row in found["rows"]} == {state}
        named = f"/api/v1/jobs?window=2026-10&limit=1000&filter=state:{state}{pools}"
        assert server.ask(named).json["rows"] == found["rows"]
        report = server.ask(f"/api/v1/report?window=2026-10&aggregate=state&filter=state:{state}").json
        assert [row["state"] for row in report["rows"]] == [state]
        assert Decimal(report["rows"][0]["cost"]) == Decimal(found["cost"])


def test_a_job_is_found_priced_and_explained_to_the_same_digit(server: Server, company: Workspace) -> None:
    page = server.ask("/api/v1/jobs?window=2026-10&limit=1&sort=-cost").json
    (first,) = page["rows"]
    job = server.ask(f"/api/v1/jobs/{first['job']}?window=2026-10").json
    explained = server.ask(f"/api/v1/jobs/{first['job']}/explain?month=2026-10").json
    assert first["cost"] == job["job"]["cost"] == explained["cost"] == explained["explained"]
    assert sum(Decimal(row["cost"]) for row in job["costs"]) == Decimal(first["cost"])
    line = explained["lines"][0]
    payers = server.ask(f"/api/v1/lines/{line['delivery']}/{line['line']}?month=2026-10").json
    assert payers["parts"]["effective"] == payers["line"]["effective"] == line["line_amount"]
    mine = [one for one in payers["payers"] if one["job"] == first["job"] and one["day"] == line["day"]]
    assert sum(Decimal(one["effective"]) for one in mine) == Decimal(line["part"])


def test_pages_of_jobs_add_up_to_the_whole_list(server: Server) -> None:
    whole = server.ask("/api/v1/jobs?window=2026-10,2026-11&limit=1000").json
    parts = [
        server.ask(f"/api/v1/jobs?window=2026-10,2026-11&limit=20&offset={at}").json["rows"] for at in range(0, 80, 20)
    ]
    assert [row for part in parts for row in part] == whole["rows"]
    assert len(whole["rows"]) == whole["count"] > 60
    assert sum(Decimal(row["cost"]) for row in whole["rows"]) == Decimal(whole["cost"])


@pytest.mark.parametrize("days", ["from=2026-10&to=2026-10", "from=2026-10-05&to=2026-11-20&sort=team"])
def test_an_export_has_all_jobs_regardless_of_the_page_size(server: Server, days: str, tmp_path: Path) -> None:
    """A period across two books is not computed from a digest."""
    response = server.ask(f"/export/jobs.csv?{days}&size=25&page=2")
    assert response.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    window = "2026-10" if "to=2026-10&" in f"{days}&" else "2026-10-05,2026-11-21"
    page = server.ask(f"/api/v1/jobs?window={window}&limit=1000").json
    assert {row["job"] for row in rows} == {row["job"] for row in page["rows"]}
    assert len(rows) == page["count"] > 25
    assert sum(Decimal(row["cost"] or 0) for row in rows) == Decimal(page["cost"])
    (tmp_path / "jobs.parquet").write_bytes(server.ask(f"/export/jobs.parquet?{days}").body)
    with duckdb.connect() as reader:
        assert reader.execute(f"SELECT count(*) FROM '{tmp_path}/jobs.parquet'").fetchone() == (len(rows),)


@pytest.mark.parametrize("path", LISTS)
def test_every_list_is_available_as_csv_and_parquet(server: Server, path: str, tmp_path: Path) -> None:
    body = server.ask(f"/api/v1/{path}").json
    rows = body["books" if path == "books" else "rows"]
    as_csv = server.ask(f"/api/v1/{path}", headers={"Accept": "text/csv"})
    assert as_csv.headers["content-type"].startswith("text/csv")
    assert len(list(csv.DictReader(io.StringIO(as_csv.text)))) == len(rows) > 0
    parquet = tmp_path / "rows.parquet"
    parquet.write_bytes(server.ask(f"/api/v1/{path}?format=parquet").body)
    with duckdb.connect() as database:
        found = database.execute(f"SELECT * FROM '{parquet}'")
        columns = [column[0] for column in found.description]
        assert len(found.fetchall()) == len(rows)
    assert columns == list(rows[0])


def test_an_unchanged_response_is_not_sent_again(server: Server) -> None:
    first = server.ask("/api/v1/jobs")
    again = server.ask("/api/v1/jobs", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert server.ask("/api/v1/jobs?limit=3").headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize(
    ("path", "status", "where"),
    [
        ("/api/v1/report?window=never", 400, "window"),
        ("/api/v1/report?window=1999", 404, "window"),
        ("/api/v1/report?aggregate=color", 400, "--by"),
        ("/api/v1/report?filter=team", 400, "filter"),
        ("/api/v1/report?step=1h", 400, "step"),
        ("/api/v1/jobs?sort=color", 400, "sort"),
        ("/api/v1/jobs?limit=0", 400, "limit"),
        ("/api/v1/jobs/nobody", 404, "job"),
        ("/api/v1/jobs/nobody/explain", 404, "job"),
        ("/api/v1/lines/1/999999", 404, "line"),
        ("/api/v1/reconcile?month=2026-13", 400, "month"),
        ("/api/v1/rules?version=99", 400, "book 2026-11"),
        ("/api/v1/metrics?metric=M77", 400, "--metric"),
    ],
)
def test_an_invalid_request_gets_problem_json(server: Server, path: str, status: int, where: str) -> None:
    response = server.ask(path)
    assert (response.status, response.json["where"]) == (status, where)
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json["title"]


def test_allocations_have_opencosts_schema(server: Server) -> None:
    report = server.ask("/api/v1/report?window=2026-10").json
    body = server.ask("/allocation/compute?window=2026-10&aggregate=namespace&includeIdle=true").json
    (found,) = body["data"]
    assert body["code"] == 200
    assert set(found) == {"nlp", "speech", "vision", "__idle__"}
    costs = {row["team"]: float(row["cost"]) for row in report["rows"]}
    assert {name: found[name]["totalCost"] for name in costs} == costs
    assert found["__idle__"]["totalCost"] == float(report["idle"]["cost"])
    days = server.ask("/allocation/compute?window=2026-10-01,2026-10-08&aggregate=namespace&step=1d").json["data"]
    (summed,) = server.ask(
        "/allocation/compute?window=2026-10-01,2026-10-08&aggregate=namespace&step=1d&accumulate=true"
    ).json["data"]
    assert len(days) == 7
    assert summed["nlp"]["totalCost"] == pytest.approx(sum(day["nlp"]["totalCost"] for day in days if "nlp" in day))
    assert server.ask("/allocation/compute?window=1999").json["data"] == [{}]


def test_prometheus_metrics_name_no_job(server: Server) -> None:
    server.ask("/api/v1/jobs")
    response = server.ask("/metrics").text
    assert 'trainfare_cost_usd_total{category="compute",project="",state="billed",team="nlp"}' in response
    assert (
        'trainfare_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/api/v1/jobs",status="200"}'
        in response
    )
    differences = [
        line for line in response.splitlines() if line.startswith("trainfare_reconciliation_difference_usd{")
    ]
    assert differences
    assert all(line.endswith(" 0.0") for line in differences)
    assert "alone" not in response
    assert "gpu-1" not in response


def test_it_is_live_and_ready(server: Server) -> None:
    assert [server.ask(path).status for path in ("/livez", "/healthz", "/readyz")] == [200, 200, 200]


def test_the_api_page_loads_nothing_from_elsewhere(server: Server) -> None:
    page = server.ask("/api").text
    document = server.ask("/api/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) > 12
    assert all(path in page for path in document["paths"])
    assert "http" not in page.replace("/api/openapi.json", "").replace("OpenAPI", "")
