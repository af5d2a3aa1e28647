"""Events that a server receives: each bad one has its own message, and the reader of files agrees with every answer."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems, TrainfareError
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.receiver import MAX_EVENTS, Receipt, Receiver
from trainfare.sources.head import read_head
from trainfare.sources.protocol import ReadOptions
from trainfare.sources.telemetry import events as reader
from trainfare.sources.telemetry.received import Event, Refusal, check
from trainfare.store import Store

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
LINES = "application/x-ndjson"
BATCH = "application/cloudevents-batch+json"
ADMIN = Viewer("ann", "admin")
DATA = {"v": 1, "job": "j1", "attempt": 1, "machine": "n1"}


def event(type_: str = "running", data: Any = None, **changed: Any) -> dict[str, Any]:
    made = {"specversion": "1.0", "id": "a-1", "source": "sdk/n1/7", "type": f"trainfare.{type_}"}
    made |= {"time": "2026-11-18T07:34:00.123456Z", "data": ... if data is ... else {**DATA, **(data or {})}}
    return {name: value for name, value in {**made, **changed}.items() if value is not ...}


def without(*names: str) -> dict[str, Any]:
    one = event()
    one["data"] = {name: value for name, value in DATA.items() if name not in names}
    return one


BAD: dict[str, tuple[Any, str]] = {
    "a list": ([1], "'[1]' is not a JSON object"),
    "a number": (7, "'7' is not a JSON object"),
    "no id": (event(id=...), "id is empty"),
    "a blank id": (event(id="  "), "id is empty"),
    "an id that is a list": (event(id=["a"]), "id '[\"a\"]' is not a text"),
    "an endless id": (event(id="x" * 1025), f"id '{'x' * 40}...' has more than 1024 characters"),
    "no source": (event(source=...), "source is empty"),
    "no type": (event(type=...), "type is empty"),
    "no time": (event(time=...), "time is empty"),
    "a time that is none": (event(time="noon"), "time 'noon' is not a time"),
    "a time that is a number": (event(time=1700000000), "time '1700000000' is not a time"),
    "a time without an offset": (
        event(time="2026-11-18T07:34:00"),
        "time '2026-11-18T07:34:00' has no offset from UTC",
    ),
    "a day": (event(time="2026-11-18"), "time '2026-11-18' is not a time"),
    "a time in the future": (event(time="2027-01-01T00:00:00Z"), "time '2027-01-01T00:00:00Z' is in the future"),
    "a time before computers": (event(time="1850-01-01T00:00:00Z"), "time '1850-01-01T00:00:00Z' is before 1970"),
    "data that is a text": (event(data=None) | {"data": "x"}, "data 'x' is not a JSON object"),
    "data that is a list": (event() | {"data": []}, "data '[]' is not a JSON object"),
    "no job": (without("job"), "data.job is empty"),
    "a job that is a number": (event(data={"job": 7}), "data.job '7' is not a text"),
    "no machine": (without("machine"), "data.machine is empty"),
    "no attempt": (without("attempt"), "data.attempt is empty"),
    "attempt 0": (event(data={"attempt": 0}), "data.attempt '0' is not a whole number from 1"),
    "half an attempt": (event(data={"attempt": 1.5}), "data.attempt '1.5' is not a whole number from 1"),
    "an attempt that is true": (event(data={"attempt": True}), "data.attempt 'true' is not a whole number from 1"),
    "a step without its number": (event("step"), "data.step is empty"),
    "a negative step": (event("step", {"step": -1}), "data.step '-1' is not a whole number from 0"),
    "a checkpoint without a step": (event("checkpoint_end"), "data.step is empty"),
    "seq 0": (event(data={"seq": 0}), "data.seq '0' is not a whole number from 1"),
    "negative GPUs": (event("start", {"gpus": -1}), "data.gpus '-1' is not a number of GPUs"),
    "GPUs that are a word": (event("start", {"gpus": "many"}), "data.gpus 'many' is not a number of GPUs"),
    "started after the event": (
        event("step", {"step": 1, "started": "2026-11-18T08:00:00Z"}),
        "data.started '2026-11-18T08:00:00Z' is after the event",
    ),
    "started without an offset": (
        event("step", {"step": 1, "started": "2026-11-18T07:00:00"}),
        "data.started '2026-11-18T07:00:00' has no offset from UTC",
    ),
    "nested labels": (
        event("label", {"labels": {"team": {"a": 1}}}),
        'data.labels \'{"team": {"a": 1}}\' is not an object of texts',
    ),
    "labels that are a text": (event("label", {"labels": "nlp"}), "data.labels 'nlp' is not an object of texts"),
    "nested native ids": (event("start", {"native": [1]}), "data.native '[1]' is not an object of texts"),
    "usage without values": (event("usage"), "data.values is empty"),
    "usage that is a number": (event("usage", {"values": 7}), "data.values '7' is not an object of numbers"),
    "negative usage": (
        event("usage", {"values": {"gpu_busy_seconds": -1}}),
        "data.values gpu_busy_seconds '-1' is no measurement",
    ),
    "a state that is an object": (event("end", {"state": {}}), "data.state '{}' is not a text"),
    "a huge event": (event(data={"note": "x" * 70_000}), "the event has more than 64 KB"),
}
GOOD = [
    event(),
    event("start", {"gpus": 0.5, "labels": {"team": "nlp", "empty": None}, "native": {"slurm_job_id": "7"}}),
    event("step", {"step": 0, "started": "2026-11-18T08:34:00+01:00"}, time="2026-11-18T07:34:00+00:00"),
    event("usage", {"values": {"gpu_busy_seconds": "12.5", "loss": "low"}}),
    event("end", {"state": "melted", "exit_code": 1}),
    event(data={"attempt": "2", "seq": "7"}),
    event("anything at all") | {"data": {"job": 7}},
    event() | {"data": {"v": 2, "job": ["x"]}},
    event(type="com.example.thing", data=...),
    event(traceparent="00-1", extra={"a": 1}),
]


def read(folder: Path, one: Any) -> list[str]:
    """The problems that the reader of files finds in a file with one event."""
    path = folder / "events.jsonl"
    path.write_text(json.dumps(one) + "\n", encoding="utf-8")
    engine, problems = DuckDB(), Problems()
    reader.archive(engine, read_head(path), folder / "events.parquet", ReadOptions(), problems)
    engine.close()
    return [problem.what for problem in problems.found]


@pytest.mark.parametrize("name", BAD)
def test_every_bad_event_has_its_own_message(name: str) -> None:
    given_, expected = BAD[name]
    found = check(given_, NOW)
    assert isinstance(found, Refusal), name
    assert found.what == expected
    assert found.do.endswith(".")


def test_there_are_enough_bad_events() -> None:
    assert len({message for _, message in BAD.values()}) >= 25


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_what_is_accepted_the_reader_of_files_accepts(tmp_path: Path, number: int) -> None:
    assert isinstance(check(GOOD[number], NOW), Event)
    assert read(tmp_path, GOOD[number]) == []


def test_what_the_reader_of_files_rejects_is_not_accepted() -> None:
    """The files of bad events that the reader is tested with: a bad event in each is refused here, too."""
    files = sorted((Path(__file__).parents[1] / "bad" / "events").glob("*.bad.jsonl"))
    assert len(files) > 12
    of_one_event = [path for path in files if not any(name in path.name for name in ("torn", "several", "two_events"))]
    for path in of_one_event:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert any(isinstance(check(json.loads(line), NOW), Refusal) for line in lines if line.strip()), path.name


values = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.sampled_from(["", "1", "x", "2026-11-18T07:00:00Z", "0.5"]),
    st.just({}), st.just([1]), st.just({"team": "nlp"}), st.just({"gpu_busy_seconds": 1}), st.floats(0, 2),
)  # fmt: skip
fields = st.sampled_from(
    ["job", "attempt", "machine", "seq", "step", "gpus", "started", "labels", "values", "state", "v"]
)
changes = st.dictionaries(fields, values, max_size=3)
types = st.sampled_from(["start", "running", "step", "checkpoint_end", "usage", "label", "end", "gap", "other"])


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(type_=types, data=changes)
def test_no_accepted_event_stops_a_build(tmp_path_factory: pytest.TempPathFactory, type_: str, data: Any) -> None:
    one = event(type_, data)
    if isinstance(check(one, NOW), Event):
        assert read(tmp_path_factory.mktemp("event"), one) == [], one


def lines(*events: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in events)


def receive(store: Store, body: bytes, media_type: str = LINES, encoding: str = "", viewer: Viewer = ADMIN) -> Receipt:
    receiver = Receiver(store)
    try:
        return receiver.receive(viewer, body, media_type, encoding)
    finally:
        receiver.close()


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path) as opened:
        yield opened


def test_an_event_counts_once_however_often_it_is_sent(store: Store) -> None:
    body = lines(event(), event(id="a-2"), event())
    assert receive(store, body) == Receipt(2, 1, [])
    assert receive(store, gzip.compress(body), encoding="gzip") == Receipt(0, 3, [])
    assert receive(store, json.dumps([event(id="a-3")]).encode(), BATCH) == Receipt(1, 0, [])
    again = {name: event()[name] for name in reversed(event())}
    assert receive(store, lines(again)) == Receipt(0, 1, []), "the order of fields is no difference"


def test_the_same_id_of_another_event_is_rejected_and_the_others_are_kept(store: Store) -> None:
    receive(store, lines(event()))
    found = receive(store, lines(event(data={"attempt": 2}), event(id="b"), "no", event(source="other")))
    assert (found.accepted, found.duplicates) == (2, 0)
    assert [(one["index"], one["what"]) for one in found.rejected] == [
        (0, "its id stands for another event, too"),
        (2, "'no' is not a JSON object"),
    ]
    assert found.rejected[0]["id"] == "a-1"


def test_a_token_of_a_team_reports_only_jobs_of_that_team(store: Store) -> None:
    nlp = Viewer("token nlp", "team", ("team:nlp",), ("events",), is_token=True)
    vision = Viewer("token vision", "team", ("team:vision",), ("events",), is_token=True)
    start = event("start", {"labels": {"team": "nlp"}})
    assert receive(store, lines(event(id="early")), viewer=nlp).accepted == 0, "nothing says whose job it is"
    assert receive(store, lines(start, event(id="a-2")), viewer=nlp).accepted == 2
    stolen = event("label", {"labels": {"team": "vision"}}, id="a-3")
    found = receive(store, lines(stolen, event(id="a-4")), viewer=vision)
    assert (found.accepted, {one["what"] for one in found.rejected}) == (0, {"this token is not for its job"})
    assert receive(store, lines(event(id="a-5")), viewer=nlp).accepted == 1
    assert receive(store, lines(event(id="a-6", type="other", data=...)), viewer=nlp).accepted == 0
    assert receive(store, lines(event(id="a-6", type="other", data=...))).accepted == 1


BAD_BODIES: dict[str, tuple[bytes, str, str, str]] = {
    "no type": (b"", "", "", "Content-Type: '' is not a type of events"),
    "a form": (b"a=1", "application/x-www-form-urlencoded", "", "is not a type of events"),
    "a text, which any web page could send": (lines(event()), "text/plain", "", "is not a type of events"),
    "an unknown encoding": (b"x", LINES, "br", "Content-Encoding: 'br' is not supported"),
    "no gzip": (b"x" * 30, LINES, "gzip", "it is not gzip, as its header says"),
    "cut off": (gzip.compress(lines(event()))[:-9], LINES, "gzip", "the gzip data is cut off"),
    "no UTF-8": (b"\xff\xfe", LINES, "", "it is not UTF-8"),
    "no JSON": (b"{", BATCH, "", "it is not JSON"),
    "no list": (b"{}", BATCH, "", "it is not a JSON list"),
    "a bomb": (gzip.compress(b" " * 9_000_000), LINES, "gzip", "more than 8 MB of events"),
    "too many": (b"1\n" * (MAX_EVENTS + 1), LINES, "", "more than 5,000 events in one request"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_every_bad_request_has_its_own_message(store: Store, name: str) -> None:
    body, media_type, encoding, expected = BAD_BODIES[name]
    with pytest.raises(TrainfareError) as raised:
        receive(store, body, media_type, encoding)
    assert expected in str(raised.value)


def test_a_sender_that_sends_too_much_is_asked_to_wait(store: Store) -> None:
    receiver = Receiver(store)

    def send_all() -> None:
        for _ in range(60):
            receiver.receive(ADMIN, b"1\n" * MAX_EVENTS, LINES, "")

    with pytest.raises(TrainfareError, match="more than 120,000 events in a minute"):
        send_all()
    receiver.receive(Viewer("bob", "admin"), b"1\n", LINES, "")
    receiver.close()
