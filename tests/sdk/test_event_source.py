"""Events as a source: against a model in plain Python on random histories, and case by case."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import soak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainfare.cli import main
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.normalize import facts
from trainfare.sources import registry
from trainfare.sources.head import Unit
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.telemetry.event_format import DECLARED, EVENT_NOTES
from trainfare.tables import PLACEMENTS, USAGE, Table

from . import event_model
from .event_model import Event, Logged

ZERO = datetime(2026, 10, 1, tzinfo=UTC)
HOUR = 3600


def at(seconds: int) -> datetime:
    return ZERO + timedelta(seconds=seconds)


def as_json(one: Event) -> dict[str, Any]:
    data = {"v": 1, "job": one.job, "attempt": one.attempt, "machine": one.machine, **dict(one.data)}
    if data.get("started") is not None:
        data["started"] = at(data["started"]).isoformat()
    return {
        "specversion": "1.0",
        "id": one.id,
        "source": one.source,
        "type": f"trainfare.{one.type}",
        "time": at(one.time).isoformat(),
        "data": {name: value for name, value in data.items() if value is not None},
    }


def write(path: Path, events: list[Event], torn: str = "") -> Path:
    path.write_text("".join(json.dumps(as_json(one)) + "\n" for one in events) + torn, encoding="utf-8")
    return path


def archived(engine: DuckDB, path: Path, number: int) -> tuple[Any, ArchivedFile]:
    source, head = registry.recognize(engine, path)
    problems, file = Problems(), ArchivedFile(path.with_suffix(".parquet"), number, "events")
    source.archive(engine, head, file.location, ReadOptions(), problems)
    problems.raise_if_any()
    assert head.tally.unit in (Unit.LINES, Unit.ENTRIES, Unit.RECORDS)
    return source, file


def selects(engine: DuckDB, paths: list[Path], table: Table) -> list[str]:
    found = (archived(engine, path, number) for number, path in enumerate(paths))
    given = (source.rows(engine, file, ReadOptions(), table) for source, file in found)
    return [select for select in given if select is not None]


def merged(paths: list[Path]) -> DuckDB:
    """An engine with the `placement_rows` and `usage_rows` that a build makes from these files."""
    engine = DuckDB()
    tables = {"jobs": PLACEMENTS, "usage": USAGE, "declared": DECLARED, "events": EVENT_NOTES}
    rows = {kind: selects(engine, paths, table) for kind, table in tables.items()}
    for kind in facts.LOGS:
        rows[kind] = [f"SELECT *, CAST(NULL AS VARCHAR) AS log_name FROM ({select})" for select in rows[kind]]
    facts._ingest_rows(engine, rows, tables)
    return engine


def seconds(moment: datetime) -> int:
    return round((moment.replace(tzinfo=UTC) - ZERO).total_seconds())


def placements(engine: DuckDB) -> list[tuple[Any, ...]]:
    rows = engine.rows("SELECT job_id, attempt, machine_id, started, ended, state, team, project FROM placement_rows")
    return [(job, attempt, machine, seconds(a), seconds(b), *rest) for job, attempt, machine, a, b, *rest in rows]


def usage(engine: DuckDB) -> set[tuple[Any, ...]]:
    rows = engine.rows("SELECT job_id, attempt, started, ended, measure, value FROM usage_rows")
    return {(job, attempt, seconds(a), seconds(b), measure, value) for job, attempt, a, b, measure, value in rows}


texts = st.sampled_from(["red", "blue", "green"])
label_sets = st.dictionaries(st.sampled_from(["team", "project"]), texts, max_size=2)


@st.composite
def process(draw: st.DrawFn, number: int) -> list[Event]:
    """The events of one process, each at its own second; it may be killed, or run an attempt in two parts."""
    job, attempt = draw(st.sampled_from("ab")), draw(st.integers(1, 2))
    machine, time = draw(st.sampled_from(["n1", "n2"])), draw(st.integers(0, 20)) * 30
    found: list[Event] = []
    kinds = st.sampled_from(
        ["start", "running", "step", "step", "checkpoint_begin", "checkpoint_end", "usage", "label", "end", "novelty"]
    )
    for index, kind in enumerate(["start", *draw(st.lists(kinds, max_size=10))]):
        time += draw(st.integers(1, 90))
        started = draw(st.none() | st.integers(0, time))
        data: dict[str, Any] = {
            "start": {"labels": draw(label_sets)},
            "label": {"labels": draw(label_sets)},
            "step": {"step": draw(st.integers(0, 3)), "started": started},
            "checkpoint_begin": {"step": draw(st.integers(0, 2))},
            "checkpoint_end": {
                "step": draw(st.integers(0, 2)),
                "started": started,
                "failed": draw(st.booleans()) or None,
            },
            "usage": {
                "values": {draw(st.sampled_from(["bytes_sent", "loss"])): draw(st.integers(0, 9))},
                "started": started,
            },
            "end": {"state": draw(st.sampled_from(["completed", "failed", "preempted"]))},
        }.get(kind, {})
        found.append(Event(f"sdk/{number}", f"e-{index}", kind, time, job, attempt, machine, tuple(data.items())))
    return found


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[list[Event]], list[Logged]]:
    """Files of events, with copies of processes, parts of them and duplicates in any order; and a job log."""
    processes = [draw(process(number)) for number in range(draw(st.integers(1, 4)))]
    files: list[list[Event]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for events in processes:
        for _ in range(draw(st.integers(1, 2))):
            part = events[draw(st.integers(0, 1)) :][: draw(st.integers(1, len(events)))]
            files[draw(st.integers(0, len(files) - 1))] += part
    files = [draw(st.permutations(file)) for file in files if file]
    log = []
    for _ in range(draw(st.integers(0, 3))):
        started = draw(st.integers(0, 20)) * 30
        ended = started + draw(st.integers(1, 20)) * 30
        label = st.none() | texts
        job, attempt, machine = (
            draw(st.sampled_from("abc")),
            draw(st.integers(1, 2)),
            draw(st.sampled_from(["n1", "n3"])),
        )
        log.append(Logged(job, attempt, machine, started, ended, draw(label), draw(label)))
    return [file for file in files if file], log


def require_the_models_answer(folder: Path, history: tuple[list[list[Event]], list[Logged]]) -> None:
    files, log = history
    paths = [write(folder / f"{number}.jsonl", file, '{"specversion": "1.0", "id') for number, file in enumerate(files)]
    if log:
        rows = [
            f"{one.job},{one.attempt},{one.machine},{at(one.started).isoformat()},{at(one.ended).isoformat()},completed,"
            f"{one.team or ''},{one.project or ''}\n"
            for one in log
        ]
        header = "job_id,attempt,machine_id,started,ended,state,team,project\n"
        (folder / "log.csv").write_text(header + "".join(rows), encoding="utf-8")
        paths.append(folder / "log.csv")
    engine = merged(paths)
    found = placements(engine)
    assert set(found) == event_model.placements(files, log)
    assert len([row for row in found if row[:2] not in {(one.job, one.attempt) for one in log}]) == len(
        {row for row in found if row[:2] not in {(one.job, one.attempt) for one in log}}
    )
    assert usage(engine) == event_model.usage(files)
    engine.close()


CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=8, deadline=None, suppress_health_check=CHECKS)
@given(histories())
def test_events_and_logs_become_what_the_model_says(tmp_path_factory: Any, history: Any) -> None:
    require_the_models_answer(tmp_path_factory.mktemp("history"), history)


@pytest.mark.soak
@settings(max_examples=50 * soak.SCALE, deadline=None, suppress_health_check=CHECKS)
@given(histories())
def test_many_histories_become_what_the_model_says(tmp_path_factory: Any, history: Any) -> None:
    require_the_models_answer(tmp_path_factory.mktemp("history"), history)


def simple(*kinds: tuple[str, int, dict[str, Any]], job: str = "a", attempt: int = 1, source: str = "s") -> list[Event]:
    return [
        Event(source, f"e-{number}", kind, time, job, attempt, "n1", tuple({"seq": number, **data}.items()))
        for number, (kind, time, data) in enumerate(kinds, 1)
    ]


def notes(engine: DuckDB) -> list[tuple[Any, ...]]:
    return engine.rows("SELECT note, job_id, events, detail FROM event_notes ORDER BY ALL")


def test_an_unknown_event_is_kept_as_it_came_and_noted(tmp_path: Path) -> None:
    events = simple(("start", 0, {}), ("novelty", 5, {"color": "red"}), ("end", 9, {"state": "completed"}))
    lines = [as_json(one) for one in events]
    lines[1]["traceparent"] = "00-ab"
    lines[2]["data"]["v"] = 2
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    engine = merged([tmp_path / "a.jsonl"])
    assert notes(engine) == [
        ("no end", "a", 1, "n1"),
        ("unrecognized", "a", 1, "trainfare.end"),
        ("unrecognized", "a", 1, "trainfare.novelty"),
    ]
    kept = f"SELECT data, attributes FROM read_parquet('{tmp_path}/a.parquet') WHERE type = 'trainfare.novelty'"
    data, attributes = engine.row(kept)
    assert json.loads(data)["color"] == "red"
    assert json.loads(attributes) == {"traceparent": "00-ab"}


def test_missing_numbers_are_noted_with_the_reason_and_complete_ones_are_not(tmp_path: Path) -> None:
    whole = simple(("start", 0, {}), ("running", 5, {}), ("end", 9, {"state": "completed"}))
    assert notes(merged([write(tmp_path / "whole.jsonl", whole)])) == []
    lost = simple(
        ("start", 0, {}), ("running", 5, {}), ("running", 6, {}), ("gap", 8, {"lost": 2, "reason": "no space"})
    )
    del lost[1:3]
    found = notes(merged([write(tmp_path / "lost.jsonl", lost)]))
    assert found == [("missing", "a", 2, "no space"), ("no end", "a", 2, "n1")]


def test_a_torn_last_line_is_not_there_yet_and_a_whole_one_without_a_line_end_is(tmp_path: Path) -> None:
    events = simple(("start", 0, {}), ("end", 60, {"state": "completed"}))
    text = "".join(json.dumps(as_json(one)) + "\n" for one in events)
    whole = len(text.rstrip("\n"))
    first = text.index("\n") + 1
    for size in (first, first + 1, first + 40, whole - 1, whole, whole + 1):
        path = tmp_path / f"{size}.jsonl"
        path.write_text(text[:size], encoding="utf-8")
        ((*_, ended, state, _, _),) = placements(merged([path]))
        assert (ended, state) == ((60, "completed") if size >= whole else (0, "unknown")), size


def test_a_batch_of_cloudevents_is_read_too(tmp_path: Path) -> None:
    events = simple(("start", 0, {}), ("end", 60, {"state": "failed"}))
    (tmp_path / "batch.json").write_text(json.dumps([as_json(one) for one in events]), encoding="utf-8")
    assert placements(merged([tmp_path / "batch.json"])) == [("a", 1, "n1", 0, 60, "failed", None, None)]


def test_other_labels_and_native_ids_become_labels_where_the_log_has_none(tmp_path: Path) -> None:
    labels = {"team": "cv", "seed": "7", "queue": "mine"}
    events = simple(("start", 0, {"labels": labels, "native": {"pod_uid": "u1", "seed": "9"}}), ("end", 60, {}))
    log = "job_id,attempt,machine_id,started,ended,team,queue\na,1,n1,2026-10-01T00:00:00Z,2026-10-01T00:01:00Z,nlp,short\n"
    (tmp_path / "log.csv").write_text(log, encoding="utf-8")
    path = write(tmp_path / "events.jsonl", events)
    alone = merged([path]).rows("SELECT team, labels FROM placement_rows")
    assert [(team, json.loads(text)) for team, text in alone] == [
        ("cv", {"pod_uid": "u1", "queue": "mine", "seed": "7"})
    ]
    both = merged([path, tmp_path / "log.csv"]).rows("SELECT team, labels FROM placement_rows")
    assert [(team, json.loads(text)) for team, text in both] == [
        ("nlp", {"pod_uid": "u1", "queue": "short", "seed": "7"})
    ]


def test_events_of_a_job_that_two_clusters_number_give_way_to_the_log_of_theirs(tmp_path: Path) -> None:
    """The logs call it east/7, the events 7 of cluster east."""
    header = "JobID|Cluster|User|Start|End|AllocTRES|NodeList|State\n"
    for cluster in ("east", "west"):
        row = f"7|{cluster}|ana|2026-10-01T00:00:00|2026-10-01T01:00:00|cpu=1|n1|COMPLETED\n"
        (tmp_path / f"{cluster}.txt").write_text(header + row, encoding="utf-8")
    events = simple(("start", 10, {"cluster": "east", "labels": {"team": "cv"}}), ("end", 3500, {}), job="7")
    engine = merged([tmp_path / "east.txt", tmp_path / "west.txt", write(tmp_path / "e.jsonl", events)])
    found = engine.rows("SELECT job_id, team FROM placement_rows ORDER BY job_id")
    assert found == [("east/7", "cv"), ("west/7", None)]


BILL = (
    "BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,"
    "ResourceId,ServiceCategory\n"
    "8.00,8.00,8.00,8.00,USD,Usage,2026-10-01T00:00:00Z,2026-10-01T02:00:00Z,n1,Compute\n"
)


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_bill_and_events_alone_give_a_cost_and_findings(
    tmp_path: Path, is_copied: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the machine's time is held; a copy of the events in another file changes nothing."""
    events = simple(("start", 0, {"gpus": 4, "labels": {"team": "cv"}}), ("novelty", 60, {}), ("running", HOUR, {}))
    write(tmp_path / "e1.jsonl", events)
    if is_copied:
        write(tmp_path / "e2.jsonl", events[:2])
        write(tmp_path / "e3.jsonl", events[::-1])
    (tmp_path / "bill.csv").write_text(BILL, encoding="utf-8")
    (tmp_path / "machines.csv").write_text("machine_id,resource_id,gpus\nn1,n1,4\n", encoding="utf-8")
    (tmp_path / "trainfare.toml").write_text(
        "".join(f'[[source]]\npath = "{name}"\n' for name in ("bill.csv", "machines.csv", "e*.jsonl")), encoding="utf-8"
    )
    with pytest.raises(SystemExit) as built:
        main(["build", "-w", str(tmp_path)])
    assert built.value.code == 0, capsys.readouterr().err
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["report", "-w", str(tmp_path), "--by", "team", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    (row,) = [row for row in report["rows"] if row["team"] == "cv"]
    assert (Decimal(row["cost"]), report["difference"]) == (4, "0.00")
    codes = {finding["code"] for finding in report["findings"]}
    assert {"EVENTS_UNRECOGNIZED", "EVENTS_WITHOUT_END"} <= codes
    assert "EVENTS_MISSING" not in codes
