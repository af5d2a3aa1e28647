"""`trainfare doctor`: every count and range it prints, checked by plain Python, and what it says is missing."""

import csv
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from trainfare.cli import main
from trainfare.sources.guides import guides

START = datetime(2026, 10, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
GPU_SIZE = '{"InstanceType": "p5.48xlarge"}'
ARN = "arn:aws:ec2:us-east-1:123456789012:instance/"
Row = Mapping[str, object]
Doctor = Callable[..., tuple[int, str]]


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def line(resource: str, start: datetime, hours: int = 1, cost: str = "8.00", **columns: object) -> Row:
    month = start.replace(day=1, hour=0)
    following = (month + timedelta(days=32)).replace(day=1)
    fixed = {
        "BillingPeriodStart": stamp(month),
        "BillingPeriodEnd": stamp(following),
        "ChargePeriodStart": stamp(start),
        "ChargePeriodEnd": stamp(start + hours * HOUR),
        "BilledCost": cost,
        "EffectiveCost": cost,
        "BillingCurrency": "USD",
        "ChargeCategory": "Usage",
        "ServiceCategory": "Compute",
        "ServiceName": "Machines",
        "ProviderName": "AWS",
        "ResourceId": resource,
        "SkuPriceDetails": GPU_SIZE,
    }
    return fixed | columns


def held(job: str, machine: str, start: datetime, hours: int | None = 1, **columns: object) -> Row:
    ended = "" if hours is None else stamp(start + hours * HOUR)
    fixed = {"job_id": job, "attempt": 1, "machine_id": machine, "started": stamp(start), "ended": ended, "gpus": 8}
    return fixed | columns


def write(path: Path, rows: Sequence[Row]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run the command in a folder of its own; return its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as left:
            main(["doctor", *arguments])
        return int(left.value.code or 0), capsys.readouterr().out

    return run


def inspected(doctor: Doctor, *arguments: str) -> tuple[int, dict[str, Any]]:
    code, text = doctor(*arguments, "--format", "json")
    return code, json.loads(text)


def whole_month(resource: str, **columns: object) -> list[Row]:
    return [line(resource, START + day * 24 * HOUR, 24, "192.00", **columns) for day in range(31)]


def statuses(answer: dict[str, Any]) -> dict[str, str]:
    return {one["code"] or one["name"]: one["status"] for one in answer["figures"]}


def random_files(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a bill of a few months and a job log, whose machines are written in several forms or not billed."""
    pick = random.Random(seed)
    machines = [f"i-{number:04x}" for number in range(pick.randint(2, 9))]
    bill = [
        line(
            f"{ARN}{pick.choice(machines)}",
            START + timedelta(days=pick.randint(0, 80), hours=pick.randint(0, 23)),
            pick.choice([1, 1, 5, 24, 48]),
            str(Decimal(pick.randint(-500, 99999)) / 100),
            BillingCurrency=pick.choice(["USD", "USD", "EUR"]),
            ProviderName=pick.choice(["AWS", "Oracle"]),
            ServiceCategory=pick.choice(["Compute", "Compute", "Storage"]),
        )
        for _ in range(pick.randint(5, 60))
    ]
    forms = ("{}", "aws:///us-east-1a/{}", f"{ARN}{{}}", "other-{}")
    log = [
        held(
            f"job-{pick.randint(1, 9)}",
            pick.choice(forms[:1] if pick.random() < 0.5 else forms).format(pick.choice(machines)),
            START + timedelta(days=pick.randint(0, 100), hours=pick.randint(0, 23)),
            pick.choice([1, 30, 900, None]),
            attempt=pick.randint(1, 3),
            gpus=pick.choice([8, 8, ""]),
            team=pick.choice(["nlp", ""]),
            cost_center=pick.choice(["4711", ""]),
        )
        for _ in range(pick.randint(3, 40))
    ]
    return [dict(row) for row in bill], [dict(row) for row in log]


def month_of(row: Mapping[str, Any]) -> str:
    return str(row["BillingPeriodStart"])[:7]


def length(row: Mapping[str, Any]) -> float:
    start, end = (datetime.fromisoformat(row[f"ChargePeriod{which}"]) for which in ("Start", "End"))
    return (end - start).total_seconds() / 3600


@pytest.mark.parametrize("seed", range(8))
def test_the_facts_of_bills_are_those_of_the_files(doctor: Doctor, tmp_path: Path, seed: int) -> None:
    bill, _ = random_files(seed)
    write(tmp_path / "bill.csv", bill)
    _, answer = inspected(doctor, "bill.csv")
    expected = []
    for month, currency in sorted({(month_of(row), row["BillingCurrency"]) for row in bill}):
        rows = [row for row in bill if (month_of(row), row["BillingCurrency"]) == (month, currency)]
        timed = [row["ChargePeriodEnd"] for row in rows if length(row) <= 24 and row["ServiceCategory"] == "Compute"]
        expected.append(
            {
                "month": month,
                "currency": currency,
                "lines": len(rows),
                "effective": sum((Decimal(row["EffectiveCost"]) for row in rows), Decimal(0)),
                "first": min(row["ChargePeriodStart"] for row in rows),
                "billed_through": max(row["ChargePeriodEnd"] for row in rows),
                "hours_through": max(timed, default=None),
                "ends": rows[0]["BillingPeriodEnd"],
                "days": len({row["ChargePeriodStart"][:10] for row in rows}),
                "hourly_lines": sum(length(row) <= 1 for row in rows),
            }
        )
    assert [one | {"effective": Decimal(one["effective"])} for one in answer["months"]] == expected
    costs = {
        name: sum(Decimal(r["EffectiveCost"]) for r in bill if r["ProviderName"] == name) for name in ("AWS", "Oracle")
    }
    billed = [name for name in costs if any(row["ProviderName"] == name for row in bill)]
    assert answer["providers"] == sorted(billed, key=lambda name: (-costs[name], name))


def resource_of(name: str, resources: Iterable[str]) -> str | None:
    """Return the resource that a name means, by an independent rule: the whole id, or its end after / or :."""
    end = name.replace(":", "/").rsplit("/", 1)[-1]
    return next((one for one in resources if name == one or one.endswith(f"/{end}")), None)


@pytest.mark.parametrize("seed", range(8))
def test_the_facts_of_job_logs_and_names_are_those_of_the_files(doctor: Doctor, tmp_path: Path, seed: int) -> None:
    bill, log = random_files(seed)
    write(tmp_path / "bill.csv", bill)
    write(tmp_path / "jobs.csv", log)
    _, answer = inspected(doctor, "bill.csv", "jobs.csv")
    names = {row["machine_id"] for row in log}
    ends = [row["ended"] or row["started"] for row in log]
    billed = {month_of(row) for row in bill}
    months: set[str] = set()
    for row in log:
        start, end = (datetime.fromisoformat(row[name] or row["started"]) for name in ("started", "ended"))
        end = max(start, end - timedelta(seconds=1))
        while start.strftime("%Y-%m") <= end.strftime("%Y-%m"):
            months.add(start.strftime("%Y-%m"))
            start = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
    found = answer["log"]
    assert (found["rows"], found["jobs"], found["machines"]) == (len(log), len({r["job_id"] for r in log}), len(names))
    assert found["attempts"] == len({(row["job_id"], row["attempt"]) for row in log})
    assert (found["first"], found["last"]) == (min(row["started"] for row in log), max(ends))
    assert (found["running"], found["with_gpus"]) == (
        sum(not row["ended"] for row in log),
        sum(row["gpus"] != "" for row in log),
    )
    assert found["labels"]["team"] == sum(bool(row["team"]) for row in log)
    assert found["labels"]["cost_center"] == sum(bool(row["cost_center"]) for row in log)
    assert found["unbilled_months"] == sorted(months - billed)

    resources = {row["ResourceId"] for row in bill}
    meant = {name: resource_of(name, resources) for name in names}
    matched = {resource for resource in meant.values() if resource}
    assert answer["names"]["in_log"] == len(names)
    assert answer["names"]["on_bill"] == answer["names"]["sized"] == sum(bool(one) for one in meant.values())
    assert answer["names"]["gpu_resources"] == len(resources)
    assert answer["names"]["only_in_log"] == sorted(name for name, one in meant.items() if not one)[:3]
    costs = {one: Decimal(0) for one in resources - matched if any(_is_compute(row, one) for row in bill)}
    for row in bill:
        if row["ResourceId"] in costs and row["ServiceCategory"] == "Compute":
            costs[row["ResourceId"]] += Decimal(row["EffectiveCost"])
    assert answer["names"]["only_on_bill"] == sorted(costs, key=lambda one: (-costs[one], one))[:3]


def _is_compute(row: Mapping[str, Any], resource: str) -> bool:
    return row["ResourceId"] == resource and row["ServiceCategory"] == "Compute"


def test_every_file_is_listed_with_its_kind_rows_and_time(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4), held("b", "n1", START + 9 * HOUR, 2)])
    write(tmp_path / "machines.csv", [{"machine_id": "n1", "gpus": 8}])
    _, answer = inspected(doctor, "bill.csv", "jobs.csv", "machines.csv")
    listed = [(one["path"], one["kind"], one["rows"], one["first"], one["last"]) for one in answer["files"]]
    assert listed == [
        ("bill.csv", "bill", 31, stamp(START), stamp(START + 31 * 24 * HOUR)),
        ("jobs.csv", "jobs", 2, stamp(START), stamp(START + 11 * HOUR)),
        ("machines.csv", "machines", 1, None, None),
    ]


def test_nothing_is_missing_for_the_cost_per_hour(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4)])
    code, answer = inspected(doctor, "bill.csv", "jobs.csv")
    assert (code, answer["complete"]) == (0, True)
    assert [statuses(answer)[name] for name in ("M1", "M2", "M3")] == ["ready"] * 3
    assert answer["next"] == ["trainfare report bill.csv --jobs jobs.csv"]


def test_without_a_job_log_the_data_is_incomplete(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    code, answer = inspected(doctor, "bill.csv")
    assert (code, statuses(answer)["M1"], statuses(answer)["M3"]) == (3, "missing", "ready")
    assert "no job log" in answer["figures"][0]["missing"]
    assert "sacct" in answer["figures"][0]["do"]


def test_without_a_bill_the_steps_of_every_cloud_are_next(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4)])
    code, answer = inspected(doctor, "jobs.csv")
    assert (code, statuses(answer)["M1"]) == (3, "missing")
    assert answer["next"] == [f"trainfare doctor --policy {cloud}" for cloud in guides()]


def test_an_unreadable_file_does_not_hide_the_others(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4)])
    (tmp_path / "notes.csv").write_text("name,amount\nx,8\n", encoding="utf-8")
    code, answer = inspected(doctor, "bill.csv", "jobs.csv", "notes.csv", "absent.csv")
    assert code == 2
    assert [one["where"] for one in answer["problems"]] == ["notes.csv", "absent.csv"]
    assert statuses(answer)["M1"] == "ready"
    _, text = doctor("bill.csv", "jobs.csv", "notes.csv")
    assert "What cannot be read" in text


@pytest.mark.parametrize(("hours", "code"), [(31 * 24, 0), (31 * 24 + 1, 3)])
def test_jobs_beyond_the_bill_make_the_cost_per_hour_partial(
    doctor: Doctor, tmp_path: Path, hours: int, code: int
) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, hours)])
    found, answer = inspected(doctor, "bill.csv", "jobs.csv")
    assert (found, statuses(answer)["M1"]) == (code, "partial" if code else "ready")


def test_jobs_in_a_month_without_a_bill_are_named(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4), held("b", "n1", START + 70 * 24 * HOUR, 4)])
    code, answer = inspected(doctor, "bill.csv", "jobs.csv")
    assert (code, answer["log"]["unbilled_months"]) == (3, ["2026-12"])
    assert "2026-12" in answer["figures"][0]["missing"]


def test_a_log_and_a_bill_of_different_times_have_nothing_in_common(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START + 100 * 24 * HOUR, 4)])
    code, answer = inspected(doctor, "bill.csv", "jobs.csv")
    assert (code, statuses(answer)["M1"]) == (3, "missing")
    assert "no common time" in answer["figures"][0]["missing"]


def test_names_that_do_not_match_are_shown_three_of_each_with_what_to_change(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", [line(f"{ARN}i-{n}", START, 24, str(90 - n)) for n in range(5)])
    write(tmp_path / "jobs.csv", [held("a", f"ip-10-0-0-{n}", START, 4) for n in range(1, 6)])
    write(tmp_path / "machines.csv", [{"machine_id": f"ip-10-0-0-{n}", "resource_id": f"i-9{n}"} for n in range(1, 6)])
    code, answer = inspected(doctor, "bill.csv", "jobs.csv", "machines.csv")
    names = answer["names"]
    assert (code, names["in_log"], names["on_bill"], names["listed"], names["listed_on_bill"]) == (3, 5, 0, 5, 0)
    assert names["only_in_log"] == ["ip-10-0-0-1", "ip-10-0-0-2", "ip-10-0-0-3"]
    assert names["only_on_bill"] == [f"{ARN}i-{n}" for n in range(3)]
    assert names["only_listed"] == ["i-91", "i-92", "i-93"]
    figure = answer["figures"][0]
    assert all(
        name in figure["missing"] for some in ("only_in_log", "only_on_bill", "only_listed") for name in names[some]
    )
    assert f"ip-10-0-0-1,{ARN}i-0" in figure["do"]
    assert "machine file" in figure["do"]


def test_one_name_that_does_not_match_makes_the_cost_per_hour_partial(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4), held("b", "n2", START, 4)])
    code, answer = inspected(doctor, "bill.csv", "jobs.csv")
    assert (code, statuses(answer)["M1"]) == (3, "partial")
    assert answer["names"]["only_in_log"] == ["n2"]


def test_columns_that_are_not_read_and_those_that_become_labels_are_named(
    doctor: Doctor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4, nodepool="x", Team="nlp")])
    write(tmp_path / "machines.csv", [{"machine_id": "n1", "GPUs": 8, "rack": "r1", "gpu_count": 8}])
    _, answer = inspected(doctor, "bill.csv", "jobs.csv", "machines.csv")
    assert [one["unread_columns"] for one in answer["files"]] == [[], [], ["rack", "gpu_count"]]
    assert [one["label_columns"] for one in answer["files"]] == [[], ["nodepool"], []]
    with pytest.raises(SystemExit):
        main(["report", "bill.csv", "--jobs", "jobs.csv", "--machines", "machines.csv"])
    assert "machines.csv: columns that are not read: rack, gpu_count" in capsys.readouterr().err
    sources = "".join(f"[[source]]\npath = '{name}.csv'\n" for name in ("bill", "jobs", "machines"))
    (tmp_path / "trainfare.toml").write_text(sources, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["build"])
    assert "machines.csv: columns that are not read: rack, gpu_count" in capsys.readouterr().err


MEASURED = ("gpu_busy_seconds", "bytes_sent", "storage_requests", "checkpoint")


@pytest.mark.parametrize(
    ("measure", "code", "without"),
    [("gpu_busy_seconds", "M8", "partial"), ("bytes_sent", "M7", "missing"), ("checkpoint", "M5", "partial")],
)
def test_a_measurement_makes_its_figure_ready(
    doctor: Doctor, tmp_path: Path, measure: str, code: str, without: str
) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4)])
    rows = [
        {"job_id": "a", "attempt": 1, "started": stamp(START), "ended": stamp(START + HOUR), "measure": one, "value": 5}
        for one in MEASURED
        if one != measure
    ]
    write(tmp_path / "others.csv", rows)
    write(tmp_path / "measured.csv", [rows[0] | {"measure": measure}, rows[0] | {"measure": measure, "value": 6}])
    _, answer = inspected(doctor, "bill.csv", "jobs.csv", "others.csv")
    assert statuses(answer)[code] == without
    _, answer = inspected(doctor, "bill.csv", "jobs.csv", "others.csv", "measured.csv")
    assert statuses(answer)[code] == "ready"
    assert answer["measures"] == dict.fromkeys(MEASURED, 1) | {measure: 2}


def test_chargeback_needs_labels_on_every_row(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4, team="nlp"), held("b", "n1", START, 4, team="")])
    _, answer = inspected(doctor, "bill.csv", "jobs.csv")
    assert (statuses(answer)["Chargeback by team"], statuses(answer)["Chargeback by cost center"]) == (
        "partial",
        "missing",
    )
    assert "1 of 2 rows" in next(one["missing"] for one in answer["figures"] if one["name"] == "Chargeback by team")


def test_a_workspace_is_inspected_without_changing_it(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4)])
    settings = "estimate = true\n[[source]]\npath = 'bill.csv'\n[[source]]\npath = 'jobs.csv'\n"
    (tmp_path / "trainfare.toml").write_text(settings, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, answer = inspected(doctor)
    assert (code, answer["next"][0]) == (0, "trainfare build")
    assert statuses(answer)["Estimates of hours not billed yet"] == "ready"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_stands_for_the_files_in_it(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    write(tmp_path / "exports" / "bill.csv", whole_month("n1"))
    write(tmp_path / "exports" / "jobs.csv", [held("a", "n1", START, 4)])
    (tmp_path / "exports" / ".hidden").write_text("x", encoding="utf-8")
    code, answer = inspected(doctor, "exports")
    assert (code, [one["path"] for one in answer["files"]]) == (0, ["exports/bill.csv", "exports/jobs.csv"])


@pytest.mark.parametrize("format_", ["table", "csv", "md"])
def test_every_format_shows_files_figures_and_the_next_command(doctor: Doctor, tmp_path: Path, format_: str) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4)])
    code, text = doctor("bill.csv", "jobs.csv", "--format", format_)
    assert code == 0
    for part in ("bill.csv", "5,952.00 USD", "cost per wall-clock hour", "ready", "trainfare report bill.csv"):
        assert part in text


@pytest.mark.parametrize(
    ("provider", "cloud"),
    [
        ("AWS", "aws"),
        ("Amazon Web Services", "aws"),
        ("Microsoft", "azure"),
        ("Google Cloud", "gcp"),
        ("Oracle", "oci"),
    ],
)
def test_an_incomplete_bill_leads_to_the_steps_of_its_cloud(
    doctor: Doctor, tmp_path: Path, provider: str, cloud: str
) -> None:
    write(tmp_path / "bill.csv", [line("n1", START, 4, ProviderName=provider)])
    write(tmp_path / "jobs.csv", [held("a", "n1", START, 4)])
    _, answer = inspected(doctor, "bill.csv", "jobs.csv")
    assert answer["next"][1:] == [f"trainfare doctor --policy {cloud}"]


def test_the_how_to_page_shows_what_doctor_prints(doctor: Doctor, tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    for name in ("bill.csv", "sacct.txt", "machines.csv"):
        (tmp_path / name).write_bytes((docs / "example" / name).read_bytes())
    code, text = doctor("bill.csv", "sacct.txt", "machines.csv")
    assert code == 3
    assert f"```text\n{text}```" in (docs / "howto" / "doctor.md").read_text(encoding="utf-8")


HARDWARE = {
    "price": 300000,
    "salvage": 0,
    "currency": "USD",
    "in_service": "2026-01-01",
    "life_months": 48,
    "method": "straight",
}


def test_owned_machines_need_no_bill(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "hardware.csv", [{"machine_id": "own-1", **HARDWARE}])
    write(tmp_path / "jobs.csv", [held("a", "own-1", START, 4)])
    code, answer = inspected(doctor, "hardware.csv", "jobs.csv")
    assert (code, statuses(answer)["M1"], statuses(answer)["M10"]) == (0, "ready", "ready")
    assert (answer["names"]["in_log"], answer["names"]["on_bill"], answer["ledgers"]) == (1, 1, {"hardware": 1})
    assert answer["next"] == ["trainfare init"]


def test_owned_machines_beside_a_bill_match_by_their_own_names(doctor: Doctor, tmp_path: Path) -> None:
    write(tmp_path / "bill.csv", whole_month("n1"))
    write(tmp_path / "hardware.csv", [{"machine_id": "own-1", **HARDWARE}])
    write(tmp_path / "jobs.csv", [held("a", "own-1", START, 4), held("b", "n1", START, 4), held("c", "n2", START, 4)])
    code, answer = inspected(doctor, "bill.csv", "hardware.csv", "jobs.csv")
    assert (code, answer["names"]["on_bill"], answer["names"]["only_in_log"]) == (3, 2, ["n2"])


@pytest.mark.parametrize("format_", ["table", "json", "csv", "md"])
def test_names_from_files_have_no_effect_on_the_terminal(doctor: Doctor, tmp_path: Path, format_: str) -> None:
    write(tmp_path / "bill.csv", whole_month("n\x1b]0;owned\x07"))
    write(tmp_path / "jobs.csv", [held("a", "m\x1b[31m\u202e", START, 4, **{"col\x1b[31m": "x"})])
    write(tmp_path / "machines.csv", [{"machine_id": "other\x7f", "rack\x9b": 1}])
    _, text = doctor("bill.csv", "jobs.csv", "machines.csv", "--format", format_)
    assert not {mark for mark in text if mark in "\x1b\x07\x7f\x9b\u202e"}
    assert "u001b" in text
