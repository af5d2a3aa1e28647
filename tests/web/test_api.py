"""The API says what the command line says, in every format, and tells when nothing has changed."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from workspace.folder import Workspace

from .server import Server

TWINS = [
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


def test_the_report_is_the_command_lines(server: Server, company: Workspace) -> None:
    told = server.ask("/api/v1/report?window=2026-10&aggregate=team").json
    assert told == json.loads(company.run("report", "--month", "2026-10", "--format", "json").out)


def test_the_forecast_is_the_command_lines(server: Server, company: Workspace) -> None:
    told = server.ask("/api/v1/forecast?by=team").json
    assert told["rows"] == json.loads(company.run("forecast", "--by", "team", "--format", "json").out)["forecast"]
    assert (told["currency"], told["band_percent"]) == ("USD", 80)
    assert {row["state"] for row in told["rows"]} == {"complete", "forecast", "not known"}
    assert all((row["state"] == "forecast") == (row["forecast"] is not None) for row in told["rows"])
    assert all(row["reason"] for row in told["rows"] if row["state"] == "not known")


def test_the_measures_are_the_command_lines(server: Server, company: Workspace) -> None:
    told = server.ask("/api/v1/metrics?month=2026-10&aggregate=team,project&basis=billed").json
    asked = (
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
    assert told["rows"] == json.loads(company.run(*asked).out)["metrics"]
    assert {row["metric"] for row in told["rows"]} >= {"M1", "M2", "M3"}
    (only,) = {row["metric"] for row in server.ask("/api/v1/metrics?metric=M2").json["rows"]}
    assert only == "M2"


@pytest.mark.parametrize("which", ["held", "busy", "not_lost"])
def test_a_report_per_productive_hour_is_the_command_lines(server: Server, company: Workspace, which: str) -> None:
    told = server.ask(f"/api/v1/report?window=2026-10&productive={which}").json
    asked = ("report", "--month", "2026-10", "--per", "productive", "--productive", which, "--format", "json")
    assert told == json.loads(company.run(*asked).out)


def test_advice_on_checkpoints_is_the_command_lines(server: Server, company: Workspace) -> None:
    """The command also tries the dearest intervals in a simulation; a service does not take that time."""
    told = server.ask("/api/v1/checkpoints?month=2026-10").json["rows"]
    listed = json.loads(company.run("checkpoints", "--month", "2026-10", "--format", "json").out)["checkpoints"]
    assert told == [{name: value for name, value in row.items() if name != "simulated_seconds"} for row in listed] != []


def test_errors_of_estimates_are_the_command_lines(server: Server, company: Workspace) -> None:
    told = server.ask("/api/v1/estimates?month=2026-10").json["rows"]
    assert told == json.loads(company.run("estimates", "--month", "2026-10", "--format", "json").out)["errors"]


def test_steps_add_up_to_the_window(server: Server) -> None:
    whole = server.ask("/api/v1/report?window=2026-10-03,2026-10-20&aggregate=team").json
    pieces = server.ask("/api/v1/report?window=2026-10-03,2026-10-20&aggregate=team&step=1d").json["rows"]
    assert len({row["start"] for row in pieces}) == 17
    assert sum(Decimal(row["cost"]) for row in pieces) == Decimal(whole["overall"]["cost"])


def test_a_job_is_found_priced_and_explained_to_the_same_digit(server: Server, company: Workspace) -> None:
    page = server.ask("/api/v1/jobs?window=2026-10&limit=1&sort=-cost").json
    (first,) = page["rows"]
    job = server.ask(f"/api/v1/jobs/{first['job']}?window=2026-10").json
    explained = server.ask(f"/api/v1/jobs/{first['job']}/explain?month=2026-10").json
    assert first["cost"] == job["job"]["cost"] == explained["cost"] == explained["opened"]
    assert sum(Decimal(row["cost"]) for row in job["costs"]) == Decimal(first["cost"])
    line = explained["lines"][0]
    payers = server.ask(f"/api/v1/lines/{line['delivery']}/{line['line']}?month=2026-10").json
    assert payers["parts"]["effective"] == payers["line"]["effective"] == line["line_amount"]
    mine = [one for one in payers["payers"] if one["job"] == first["job"] and one["day"] == line["day"]]
    assert sum(Decimal(one["effective"]) for one in mine) == Decimal(line["part"])


def test_pages_of_jobs_are_the_whole_list(server: Server) -> None:
    whole = server.ask("/api/v1/jobs?window=2026-10,2026-11&limit=1000").json
    parts = [
        server.ask(f"/api/v1/jobs?window=2026-10,2026-11&limit=20&offset={at}").json["rows"] for at in range(0, 80, 20)
    ]
    assert [row for part in parts for row in part] == whole["rows"]
    assert len(whole["rows"]) == whole["count"] > 60
    assert sum(Decimal(row["cost"]) for row in whole["rows"]) == Decimal(whole["cost"])


@pytest.mark.parametrize("days", ["from=2026-10&to=2026-10", "from=2026-10-05&to=2026-11-20&sort=team"])
def test_all_jobs_are_exported_however_many_a_page_has(server: Server, days: str, tmp_path: Path) -> None:
    """The time of two books is not answered from a digest."""
    told = server.ask(f"/export/jobs.csv?{days}&size=25&page=2")
    assert told.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(told.text)))
    start, end = (part.split("=")[1] for part in days.split("&")[:2])
    page = server.ask(f"/api/v1/jobs?window={start},{end}&limit=1000").json
    assert {row["job"] for row in rows} == {row["job"] for row in page["rows"]}
    assert len(rows) == page["count"] > 25
    assert sum(Decimal(row["cost"] or 0) for row in rows) == Decimal(page["cost"])
    (tmp_path / "jobs.parquet").write_bytes(server.ask(f"/export/jobs.parquet?{days}").body)
    with duckdb.connect() as reader:
        assert reader.execute(f"SELECT count(*) FROM '{tmp_path}/jobs.parquet'").fetchone() == (len(rows),)


@pytest.mark.parametrize("path", TWINS)
def test_every_list_has_its_twins(server: Server, path: str, tmp_path: Path) -> None:
    told = server.ask(f"/api/v1/{path}").json
    rows = told["books" if path == "books" else "rows"]
    as_csv = server.ask(f"/api/v1/{path}", headers={"Accept": "text/csv"})
    assert as_csv.headers["content-type"].startswith("text/csv")
    assert len(list(csv.DictReader(io.StringIO(as_csv.text)))) == len(rows) > 0
    kept = tmp_path / "answer.parquet"
    kept.write_bytes(server.ask(f"/api/v1/{path}?format=parquet").body)
    with duckdb.connect() as database:
        found = database.execute(f"SELECT * FROM '{kept}'")
        columns = [column[0] for column in found.description]
        assert len(found.fetchall()) == len(rows)
    assert columns == list(rows[0])


def test_what_has_not_changed_is_not_sent_again(server: Server) -> None:
    first = server.ask("/api/v1/jobs")
    again = server.ask("/api/v1/jobs", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert server.ask("/api/v1/jobs?limit=3").headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize(
    ("path", "status", "where"),
    [
        ("/api/v1/report?window=never", 400, "window"),
        ("/api/v1/report?window=1999", 404, "window"),
        ("/api/v1/report?aggregate=colour", 400, "--by"),
        ("/api/v1/report?filter=team", 400, "filter"),
        ("/api/v1/report?step=1h", 400, "step"),
        ("/api/v1/jobs?sort=colour", 400, "sort"),
        ("/api/v1/jobs?limit=0", 400, "limit"),
        ("/api/v1/jobs/nobody", 404, "job"),
        ("/api/v1/jobs/nobody/explain", 404, "job"),
        ("/api/v1/lines/1/999999", 404, "line"),
        ("/api/v1/reconcile?month=2026-13", 400, "month"),
        ("/api/v1/rules?version=99", 400, "book 2026-11"),
        ("/api/v1/metrics?metric=M77", 400, "--metric"),
    ],
)
def test_a_wrong_question_gets_a_problem(server: Server, path: str, status: int, where: str) -> None:
    told = server.ask(path)
    assert (told.status, told.json["where"]) == (status, where)
    assert told.headers["content-type"] == "application/problem+json"
    assert told.json["title"]


def test_allocations_come_in_opencosts_shape(server: Server) -> None:
    report = server.ask("/api/v1/report?window=2026-10").json
    told = server.ask("/allocation/compute?window=2026-10&aggregate=namespace&includeIdle=true").json
    (found,) = told["data"]
    assert told["code"] == 200
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


def test_figures_for_prometheus_name_no_job(server: Server) -> None:
    server.ask("/api/v1/jobs")
    told = server.ask("/metrics").text
    assert 'trainfare_cost_usd_total{category="compute",project="",state="billed",team="nlp"}' in told
    assert (
        'trainfare_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/api/v1/jobs",status="200"}'
        in told
    )
    between = [line for line in told.splitlines() if line.startswith("trainfare_reconciliation_difference_usd{")]
    assert between
    assert all(line.endswith(" 0.0") for line in between)
    assert "alone" not in told
    assert "gpu-1" not in told


def test_it_lives_and_is_ready(server: Server) -> None:
    assert [server.ask(path).status for path in ("/livez", "/healthz", "/readyz")] == [200, 200, 200]


def test_the_api_describes_itself_without_anything_from_elsewhere(server: Server) -> None:
    page = server.ask("/api").text
    document = server.ask("/api/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) > 12
    assert all(path in page for path in document["paths"])
    assert "http" not in page.replace("/api/openapi.json", "").replace("OpenAPI", "")
