"""Events that were received become attempts of the live account and of books: each once, whatever crashes."""

import json
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from trainfare.books import received
from trainfare.books.build import build_books
from trainfare.engine.choice import embedded
from trainfare.engine.sql import parquet
from trainfare.live.account import LiveAccount
from trainfare.live.window import window
from trainfare.query.open_books import open_books
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.receiver import Receiver
from trainfare.store import Store
from trainfare.store.live import events as stored
from trainfare.store.recordings.catalog import RECEIVED

from .cluster import Cluster, at, costs, second
from .test_windows import spend
from .worlds import exact


class CrashError(Exception):
    """Stands for a process that is killed."""


def event(number: int, type_: str, hour: float, source: str = "sdk/n1/7", **data: Any) -> dict[str, Any]:
    common = {"v": 1, "job": "train", "attempt": 1, "machine": "n1", "seq": number}
    made = {"specversion": "1.0", "id": f"p-{number}", "source": source, "type": f"trainfare.{type_}"}
    return {**made, "time": f"{at(hour):%Y-%m-%dT%H:%M:%S}Z", "data": {**common, **data}}


START = event(1, "start", 29.25, gpus=3, labels={"team": "nlp"})
BEATS = [event(number, "running", 29.25 + number / 120) for number in range(2, 60)]
END = event(60, "end", 30.5, state="completed")


def send(store: Store, *events: dict[str, Any]) -> int:
    receiver = Receiver(store)
    body = "".join(json.dumps(one) + "\n" for one in events).encode()
    found = receiver.receive(Viewer("ann", "admin"), body, "application/x-ndjson", "")
    receiver.close()
    assert found.rejected == []
    return found.accepted


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path, machines="n1,4,\n")
    settings = (tmp_path / "trainfare.toml").read_text(encoding="utf-8")
    head, _, rest = settings.partition("[[collector]]")
    (tmp_path / "trainfare.toml").write_text(head + rest[rest.index("[[source]]") :], encoding="utf-8")
    return made


@pytest.fixture
def store(cluster: Cluster) -> Iterator[Store]:
    with Store.open(cluster.folder) as opened:
        yield opened


def held(cluster: Cluster, store: Store, hour: float) -> list[tuple[Any, ...]]:
    """What the book of these records has of the job: when it held its machine, and its state."""
    build_books(cluster.config, store, as_of=at(hour))
    book = store.catalog.latest(store.catalog.months()[0])
    assert book
    with embedded() as engine:
        open_books(engine, [store.files(book)])
        return engine.rows(
            "SELECT p.job_id, p.starts - 1790812800, p.ends - 1790812800, p.gpu_micros, a.state, a.team "
            "FROM book_placements p JOIN book_attempts a ON a.job_id = p.job_id AND a.attempt = p.attempt ORDER BY ALL"
        )


def delivered(store: Store) -> list[str]:
    """The ids of the events in all deliveries that are in use, in order."""
    with embedded() as engine:
        rows: list[str] = []
        for segment, delivery in store.catalog.recordings.segments():
            assert segment.collector == RECEIVED
            rows += [one for (one,) in engine.rows(f"SELECT id FROM {parquet(store.archive(delivery))}")]
        return sorted(rows)


def test_a_job_without_a_scheduler_is_in_the_live_account_and_in_the_book(cluster: Cluster, store: Store) -> None:
    assert send(store, START, *BEATS, END) == 60
    live = LiveAccount(cluster.config, store)
    live.bring_up_to_date(at(31))
    with live.read() as connection:
        found = window(connection, second(29), second(30.5))
        hour = spend(window(connection, second(29), second(30)))
    live.close()
    assert costs(found) == {"train": "7.50", "idle": "4.50"}  # 1.25 h of 3 of 4 GPUs at 8.00 an hour
    assert [(one.name, one.complete_through) for one in found.sources] == [("events", second(30.5))]
    assert held(cluster, store, 30) == [("train", 105300, 109800, 3_000_000, "completed", "nlp")]
    with embedded() as engine:
        book = store.catalog.latest(store.catalog.months()[0])
        assert book
        open_books(engine, [store.files(book)])
        rows = engine.rows("SELECT payer, sum(effective) FROM shares WHERE job_id = 'train' AND estimated GROUP BY 1")
    assert [Fraction(exact(cost)) for _, cost in rows] == [
        units for (payer, _, _), units in hour.items() if payer == "train#1"
    ]


def test_a_job_that_goes_on_is_one_span_however_often_books_are_built(cluster: Cluster, store: Store) -> None:
    """The time between the last event of one delivery and the first of the next is held time, too."""
    send(store, START, *BEATS[:20])
    first = held(cluster, store, 30)
    assert [(row[1], row[2], row[4]) for row in first] == [(105300, 105300 + 21 * 30, "unknown")]
    send(store, *BEATS[40:])
    assert [(row[1], row[2]) for row in held(cluster, store, 30)] == [(105300, 105300 + 59 * 30)]
    send(store, *BEATS[20:40], END)  # late and out of order
    assert held(cluster, store, 30) == [("train", 105300, 109800, 3_000_000, "completed", "nlp")]
    assert delivered(store) == sorted(one["id"] for one in (START, *BEATS, END))


def test_sealing_twice_delivers_nothing_twice(cluster: Cluster, store: Store) -> None:
    send(store, START, BEATS[0])
    assert (received.seal(store), received.seal(store)) == (2, 0)
    send(store, END)
    assert (received.seal(store), received.seal(store)) == (1, 0)
    assert send(store, START, END) == 0, "what was sealed is still known"
    assert delivered(store) == ["p-1", "p-2", "p-60"]


@pytest.mark.parametrize("step", ["begin_sealing", "seal_received", "finish_sealing"])
def test_a_crash_while_sealing_loses_nothing_and_repeats_nothing(
    cluster: Cluster, store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    send(store, START, BEATS[0], event(1, "running", 29, source="sdk/n1/8"))
    received.seal(store)
    send(store, END, event(2, "running", 29.5, source="sdk/n1/8"))

    def crash(*given: Any, **named: Any) -> Any:
        raise CrashError

    calls: list[int] = []
    finish = stored.finish_sealing

    def crash_second(connection: Any, committed: int) -> None:
        calls.append(committed)
        if len(calls) == 2:
            raise CrashError
        finish(connection, committed)

    with monkeypatch.context() as patched:
        if step == "seal_received":
            patched.setattr("trainfare.store.recordings.catalog.Recordings.seal_received", crash)
        else:
            patched.setattr(stored, step, crash_second if step == "finish_sealing" else crash)
        with pytest.raises(CrashError):
            received.seal(store)
    received.seal(store)
    assert delivered(store) == ["p-1", "p-1", "p-2", "p-2", "p-60"]  # two processes
    with embedded() as engine:
        files = [store.archive(delivery) for _, delivery in store.catalog.recordings.segments()]
        distinct = sum(engine.row(f"SELECT count(DISTINCT source || id) FROM {parquet(one)}")[0] for one in files)
    assert distinct == 5


def test_the_start_of_the_case_is_a_known_time() -> None:
    assert second(0) == int(datetime.fromisoformat("2026-10-01T00:00:00+00:00").timestamp()) == 1790812800
