"""Our own files: recognized by content, and read the same in every encoding."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from trainfare.cli import main
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.registry import recognize

MEASURED = """\
job_id,attempt,machine_id,started,ended,measure,value,from_region,to_region
a,1,n1,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,gpu_busy_seconds,25920.5,,
a,1,n1,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,bytes_sent,123456789012345678,eu-west-1,us-east-1
a,2,,2026-10-01T00:30:00Z,2026-10-01T00:31:00Z,checkpoint,1000,,
a,2,,2026-10-01T00:40:00Z,,Step,1100,,
"""
QUALITY = "job_id,metric,value,better\na,accuracy,76.4,higher\na,loss,0.123456789012,Lower\n"
PRICES = """\
kind,region,term,price,currency,valid_from,valid_to,source
p5.48xlarge,us-east-1,on_demand,98.32,USD,2026-10-01T00:00:00Z,,price page
p5.48xlarge,,,39.80,usd,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,
"""
FILES = {"measurements": MEASURED, "quality": QUALITY, "prices": PRICES}


def as_json_lines(text: str, path: Path) -> None:
    rows = [{name: value for name, value in row.items() if value} for row in csv.DictReader(text.splitlines())]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def as_parquet(text: str, path: Path) -> None:
    """Numbers and times as text, so that no digit is lost on the way."""
    path.with_suffix(".csv").write_text(text, encoding="utf-8")
    read = f"read_csv('{path.with_suffix('.csv')}', all_varchar = true)"
    duckdb.execute(f"COPY (SELECT * FROM {read}) TO '{path}' (FORMAT parquet)")


ENCODINGS: dict[str, Callable[[str, Path], object]] = {
    "csv": lambda text, path: path.write_text(text, encoding="utf-8"),
    "jsonl": as_json_lines,
    "parquet": as_parquet,
}


def read(path: Path, zone: str = "UTC") -> tuple[str, list[tuple[object, ...]]]:
    """Archive a file and return the name of its format and its rows."""
    engine, problems, options = DuckDB(), Problems(), ReadOptions(zone)
    source, head = recognize(engine, path)
    archived = ArchivedFile(path.with_name("archived"), 1, "own")
    source.archive(engine, head, archived.location, options, problems)
    problems.raise_if_any()
    select = source.rows(engine, archived, options, source.KIND.table)
    return source.NAME, engine.rows(f"SELECT * FROM ({select}) ORDER BY line")


def read_times(path: Path, zone: str) -> list[str]:
    """Return the start and end of the only placement in a job file."""
    ((_, _, _, started, ended, *_),) = read(path, zone)[1]
    return [str(started), str(ended)]


@pytest.mark.parametrize("name", FILES)
def test_a_file_reads_the_same_in_csv_json_lines_and_parquet(name: str, tmp_path: Path) -> None:
    found = []
    for ending, write in ENCODINGS.items():
        path = tmp_path / f"anything.{ending}"
        write(FILES[name], path)
        found.append(read(path))
    assert found[0] == found[1] == found[2]
    assert found[0][0] == name
    assert len(found[0][1]) == FILES[name].count("\n") - 1


def test_values_keep_every_digit_and_empty_cells_get_their_meaning(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    measured, quality, prices = (read(tmp_path / f"{name}.csv")[1] for name in FILES)
    assert [str(row[6]) for row in measured] == [
        "25920.500000",
        "123456789012345678.000000",
        "1000.000000",
        "1100.000000",
    ]
    assert measured[3][3] == measured[3][4], "a measurement without an end is a moment"
    assert measured[3][5] == "step"
    assert [str(row[2]) for row in quality] == ["76.400000000000", "0.123456789012"]
    assert (prices[1][2], prices[1][4]) == ("on_demand", "USD")


def test_a_measured_job_without_a_log_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Job a is in the log with one attempt; its attempt 2 and job x are not. September does not matter."""
    monkeypatch.chdir(tmp_path)
    good = Path(__file__).parents[1] / "bad" / "good"
    extra = "x,1,n1,2026-10-01T00:00:00Z,,step,5,,\ny,1,n1,2026-09-01T00:00:00Z,,step,5,,\n"
    Path("measured.csv").write_text(MEASURED + extra, encoding="utf-8")
    bill, jobs = (str(good / name) for name in ("bill.csv", "jobs.csv"))
    with pytest.raises(SystemExit) as left:
        main(["report", bill, "--jobs", jobs, "--with", "measured.csv", "--format", "json"])
    assert not left.value.code
    findings = {found["code"]: found for found in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["MEASURED_JOB_UNKNOWN"]["evidence"] == [
        "job a attempt 2, 2 measurements",
        "job x attempt 1, 1 measurements",
    ]


SKIPPED_HOUR = {
    "jobs": "job_id,attempt,machine_id,started,ended\na,1,n1,2026-03-29T02:30:00,2026-03-29T03:30:00\n",
    "machines": "machine_id,existed_from\nn1,2026-03-29 02:30:00\n",
    "measurements": "job_id,attempt,started,measure,value\na,1,2026-03-29T02:30:00.5,step,1\n",
    "prices": "kind,price,currency,valid_from\np5.48xlarge,98.32,USD,2026-03-29T02:30\n",
}


def problems_in(path: Path, zone: str) -> list[tuple[str, str]]:
    """Return what is wrong in this file, and what to do."""
    engine, problems = DuckDB(), Problems()
    source, head = recognize(engine, path)
    source.archive(engine, head, path.with_name("archived"), ReadOptions(zone), problems)
    return [(problem.what, problem.do) for problem in problems.found]


@pytest.mark.parametrize("name", SKIPPED_HOUR)
@pytest.mark.parametrize("ending", ENCODINGS)
def test_a_time_in_a_skipped_hour_is_rejected(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"anything.{ending}"
    ENCODINGS[ending](SKIPPED_HOUR[name], path)
    ((what, do),) = problems_in(path, "Europe/Berlin")
    assert "2026-03-29" in what
    assert what.endswith("does not exist in Europe/Berlin: the clock was set forward")
    assert do == "Check the zone, or write the time with its offset, as in 2026-10-01T00:00:00Z."
    assert problems_in(path, "UTC") == problems_in(path, "America/New_York") == []


def test_a_typed_time_in_a_skipped_hour_is_rejected_too(tmp_path: Path) -> None:
    times = "TIMESTAMP '2026-03-29 02:30:00' AS started, TIMESTAMPTZ '2026-03-29 02:30:00+00' AS ended"
    row = f"SELECT 'a' AS job_id, 1 AS attempt, 'n1' AS machine_id, {times}"
    duckdb.execute(f"COPY ({row}) TO '{tmp_path / 'jobs.parquet'}' (FORMAT parquet)")
    found = [what for what, _ in problems_in(tmp_path / "jobs.parquet", "Europe/Berlin")]
    assert found == ["started '2026-03-29 02:30:00' does not exist in Europe/Berlin: the clock was set forward"]


@pytest.mark.parametrize(
    "time", ["2026-03-29T02:30:00+01:00", "2026-03-29T02:30:00Z", "1774747800", "2026-03-29T03:00:00"]
)
def test_a_time_that_exists_is_accepted_on_the_day_the_clock_is_set_forward(time: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(f"job_id,attempt,machine_id,started,ended\na,1,n1,{time},\n")
    assert problems_in(tmp_path / "jobs.csv", "Europe/Berlin") == []


def test_a_day_without_midnight_is_accepted(tmp_path: Path) -> None:
    """In Cairo the clock goes from 23:59 to 01:00; a date without a time is still valid."""
    (tmp_path / "machines.csv").write_text("machine_id,existed_from\nn1,2026-04-24\n")
    assert problems_in(tmp_path / "machines.csv", "Africa/Cairo") == []


def test_in_an_hour_that_occurs_twice_the_second_is_meant(tmp_path: Path) -> None:
    log = "job_id,attempt,machine_id,started,ended\na,1,n1,2026-10-25T02:30:00,2026-10-25T03:30:00\n"
    (tmp_path / "jobs.csv").write_text(log)
    assert read_times(tmp_path / "jobs.csv", "Europe/Berlin") == ["2026-10-25 01:30:00", "2026-10-25 02:30:00"]


@pytest.mark.parametrize(
    "time",
    [
        "2026-10-05 02:00:00 UTC",
        "2026-10-05 04:00:00 Europe/Berlin",
        "2026-10-05T02:00:00Z ",
        "2026-10-05T04:00:00+02 ",
    ],
)
def test_a_time_that_names_its_zone_is_not_local_time(time: str, tmp_path: Path) -> None:
    """BigQuery writes UTC after the time; reading it as local time once shifted jobs by four hours."""
    (tmp_path / "jobs.csv").write_text(f"job_id,attempt,machine_id,started,ended\na,1,n1,{time},\n")
    assert read_times(tmp_path / "jobs.csv", "America/New_York")[0] == "2026-10-05 02:00:00"


def test_a_time_with_pm_is_rejected(tmp_path: Path) -> None:
    """The engine itself would ignore PM."""
    (tmp_path / "jobs.csv").write_text("job_id,attempt,machine_id,started,ended\na,1,n1,2026-10-05 02:00:00 PM,\n")
    for zone in ("UTC", "America/New_York"):
        assert [what for what, _ in problems_in(tmp_path / "jobs.csv", zone)] == [
            "started '2026-10-05 02:00:00 PM' is not a time"
        ]


def test_times_in_nanoseconds_are_read(tmp_path: Path) -> None:
    """As pandas writes them. A time with a zone is absolute, one without is local time."""
    started = "CAST(TIMESTAMPTZ '2026-10-05 02:00:00+02' AS TIMESTAMPTZ_NS)"
    times = f"{started} AS started, TIMESTAMP_NS '2026-10-05 02:00:00' AS ended"
    row = f"SELECT 'a' AS job_id, 1 AS attempt, 'n1' AS machine_id, {times}"
    duckdb.execute(f"COPY ({row}) TO '{tmp_path / 'jobs.parquet'}' (FORMAT parquet)")
    assert read_times(tmp_path / "jobs.parquet", "America/New_York") == ["2026-10-05 00:00:00", "2026-10-05 06:00:00"]


def test_a_file_name_may_start_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine would expand it to a home folder."""
    good = Path(__file__).parents[1] / "bad" / "good"
    monkeypatch.chdir(tmp_path)
    for name in ("bill.csv", "jobs.csv"):
        Path(f"~{name}").write_bytes((good / name).read_bytes())
    with pytest.raises(SystemExit) as left:
        main(["report", "~bill.csv", "--jobs", "~jobs.csv"])
    assert not left.value.code


@pytest.mark.parametrize("state", ["canceled", "Canceled", "CANCELLED"])
def test_a_canceled_job_may_be_spelled_either_way(state: str, tmp_path: Path) -> None:
    text = f"job_id,attempt,machine_id,started,ended,state\na,1,n1,2026-10-05,2026-10-06,{state}\n"
    (tmp_path / "jobs.csv").write_text(text)
    ((*_, labels, _),) = read(tmp_path / "jobs.csv")[1]
    assert read(tmp_path / "jobs.csv")[1][0][8] == "canceled"
    assert labels is None, "a known state is not a label"
