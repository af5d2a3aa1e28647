"""Files taken in, with a store or without one, and numbered."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from trainfare.config import Config
from trainfare.engine.duckdb import DuckDB
from trainfare.places import Place
from trainfare.sources import deliver
from trainfare.sources.deliver import Delivered
from trainfare.store import NewDelivery, Store

Progress = Callable[[str], None]


def into_folder(engine: DuckDB, config: Config, folder: Path, progress: Progress) -> list[Delivered]:
    """Take in files without a store: their copies go below `folder`."""
    taken = deliver.deliver(
        engine,
        config,
        lambda sha256, settings: folder / f"{sha256[:16]}-{settings[:8]}.parquet",
        lambda source, sha256, settings: None,
        progress,
    )
    return [replace(file, number=number) for number, file in enumerate(taken, 1)]


def into_store(
    engine: DuckDB, config: Config, store: Store, build_id: str, lost: set[str], progress: Progress
) -> list[Delivered]:
    """Take in what is new, all of it or nothing, and number it as the catalog does. What was `lost` of the lake is archived again where
    it was.
    """
    again: dict[tuple[str, str], Place] = {}

    def known(source: str, sha256: str, settings: str) -> Delivered | None:
        found = store.catalog.find_delivery(source, sha256, settings)
        if found and found.archive in lost:
            again[sha256, settings] = store.lake.path(found.archive)
            return None
        return deliver.from_catalog(found, store.lake.path(found.archive)) if found else None

    def archive(sha256: str, settings: str) -> Place:
        return again.get((sha256, settings)) or store.lake.delivery_path(sha256, build_id)

    taken = deliver.deliver(engine, config, archive, known, progress)
    rows = store.add_deliveries(
        [
            NewDelivery(
                source=file.source,
                path=str(file.path),
                format=file.format,
                content_sha256=file.sha256,
                settings_sha256=file.settings_sha256,
                archive=store.lake.relative(file.archive),
                lines=file.lines,
            )
            for file in taken
        ]
    )
    return [deliver.from_catalog(row, store.lake.path(row.archive)) for row in rows]
