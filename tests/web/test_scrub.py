"""Damage under a running service is reported within the stated period, without names in public."""

import time
from pathlib import Path

from trainfare.errors import Problems
from trainfare.files import digests
from trainfare.period import Month
from trainfare.serve.scrub import Scrub
from trainfare.store import NewBook, Store, integrity

SECOND = 1 / 3600


def publish(store: Store) -> Path:
    with store.lake.building() as build_id:
        path = store.lake.book_path("shares", Month(2026, 10), build_id)
        assert isinstance(path, Path)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"rows")
        book = NewBook(
            engine="duckdb",
            inputs_sha256="",
            complete_through=None,
            files={"shares": store.lake.relative(path)},
            rows={"shares": 1},
            totals=(),
            deliveries=(),
        )
        store.publish(Month(2026, 10), None, book)
    return path


def wait_for(condition: object, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing was reported in time"
        time.sleep(0.02)


def test_damage_is_reported_within_the_period_and_gone_after_the_repair(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        path = publish(store)
        scrub = Scrub(store, SECOND)
        scrub.start()
        try:
            wait_for(scrub.last)
            assert scrub.note() == ""
            path.write_bytes(b"r0ws")
            wait_for(scrub.note)
            assert scrub.note() == "damaged: 1; see the log, or run trainfare verify\n"
            assert str(tmp_path) not in scrub.note()
            last = scrub.last()
            assert last
            assert last.problems == (f"{path}: the file is damaged",)
            metrics = {family.name: family.samples[0].value for family in scrub.collect()}
            assert metrics["trainfare_scrub_problems"] == 1
            path.write_bytes(b"rows")
            wait_for(lambda: not scrub.note())
        finally:
            scrub.stop()


def test_a_clock_that_is_set_back_does_not_stop_the_scrub(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        path = publish(store)
        scrub = Scrub(store, SECOND)
        scrub._scrub_if_alone()
        first = scrub.last()
        assert first
        scrub._result_path.write_text('{"ended_at": 99999999999, "seconds": 1}')
        path.write_bytes(b"r0ws")
        scrub.start()
        try:
            wait_for(scrub.note)
        finally:
            scrub.stop()


def test_one_of_several_processes_does_it(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        publish(store)
        one, other = Scrub(store, 24), Scrub(store, 24)
        one._scrub_if_alone()
        first = one.last()
        other._scrub_if_alone()
        assert other.last() == first, "the second one found that it was done"


def test_a_damaged_catalog_is_reported_by_the_scrub(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        publish(store)
        digests._VERIFIED.clear()
        with store.catalog._database.write() as connection:
            connection.exec_driver_sql("UPDATE books SET engine = 'other'")
        problems = integrity.check_everything(store)
        assert isinstance(problems, Problems)
        assert [one.where for one in problems.found] == ["book 2026-10 version 1"]
