"""Builds from the store's point of view, in this process or in another one."""

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainfare.period import Month
from trainfare.store import Book, NewBook, NewDelivery, Store, Total

OCTOBER = Month(2026, 10)
NOVEMBER = Month(2026, 11)
ANSWER_SECONDS = 60

_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Workspace:
    """What another process needs to open a workspace."""

    folder: Path
    catalog_url: str | None

    def open(self) -> Store:
        return Store.open(self.folder, self.catalog_url)


class Process:
    """A function in a new process, called with one end of a pipe; this object holds the other end."""

    def __init__(self, function: Callable[..., None], *arguments: object) -> None:
        self._here, there = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=function, args=(there, *arguments))
        self._process.start()
        there.close()

    def receive(self) -> Any:
        assert self._here.poll(ANSWER_SECONDS), "the other process sent nothing"
        return self._here.recv()

    def has_message(self) -> bool:
        """Whether it has sent something that was not received yet."""
        return self._here.poll()

    def send(self, message: str) -> None:
        self._here.send(message)

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is cleaned up."""
        self._process.kill()
        self._process.join()


def write(path: Path, text: str = "rows") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def a_delivery(
    store: Store, build_id: str, source: str = "aws", content: str = "c1", settings: str = "s1"
) -> NewDelivery:
    archive = write(store.lake.delivery_path(content, build_id))
    return NewDelivery(
        source=source,
        path="bills/october.csv",
        format="focus",
        content_sha256=content,
        settings_sha256=settings,
        archive=store.lake.relative(archive),
        lines=3_000_000_000,
    )


def a_book(store: Store, build_id: str, month: Month = OCTOBER, **changes: Any) -> NewBook:
    """Write the files of a build and describe them, ready to be published."""
    paths = {table: write(store.lake.book_path(table, month, build_id)) for table in ("charges", "shares")}
    files = {table: store.lake.relative(path) for table, path in paths.items()}
    values: dict[str, Any] = {
        "engine": "duckdb",
        "inputs_sha256": build_id,
        "complete_through": None,
        "files": files,
        "rows": dict.fromkeys(files, 7),
        "totals": (Total("aws", "USD", "effective", Decimal("41233.180000000001"), Decimal("41233.180000000001")),),
        "deliveries": (),
    }
    return NewBook(**(values | changes))


def publish(store: Store, month: Month = OCTOBER, **changes: Any) -> Book:
    """A complete build, from the lock to the next version."""
    latest = store.catalog.latest(month)
    with store.lake.building() as build_id:
        return store.publish(month, latest.version if latest else None, a_book(store, build_id, month, **changes))


def names(store: Store) -> set[str]:
    """Every Parquet file in the lake."""
    return {store.lake.relative(path) for path in store.lake.root.rglob("*.parquet") if path.is_file()}
