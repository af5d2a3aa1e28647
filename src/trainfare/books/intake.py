"""Read the files of all sources, into a store or a folder, and number them."""

from dataclasses import replace
from pathlib import Path

from trainfare.books import received
from trainfare.books.context import BuildContext, Progress
from trainfare.engine.duckdb import DuckDB
from trainfare.files.locations import Location
from trainfare.settings.config import Config
from trainfare.sources import deliveries
from trainfare.sources.deliveries import DeliveredFile
from trainfare.store import Delivery, NewDelivery, Store
from trainfare.store.recordings import sealing


def into_folder(engine: DuckDB, config: Config, folder: Path, progress: Progress) -> list[DeliveredFile]:
    """Read files without a store: their archives go below `folder`."""
    delivered = deliveries.ingest(
        engine,
        config,
        lambda sha256, settings: folder / f"{sha256[:16]}-{settings[:8]}.parquet",
        lambda source, sha256, settings: None,
        progress,
    )
    files = [replace(file, number=number) for number, file in enumerate(delivered, 1)]
    deliveries.prepare_recordings(engine, files)
    return files


def into_store(context: BuildContext, store: Store, build_id: str) -> list[DeliveredFile]:
    """Add all new files to the store, or none, with the numbers of the catalog.

    Archives that are missing or damaged are written again.
    """
    unusable: dict[tuple[str, str, str], int] = {}

    def known(source: str, sha256: str, settings: str) -> DeliveredFile | None:
        found = store.catalog.find_delivery(source, sha256, settings)
        if found and not store.is_usable(found):
            unusable[source, sha256, settings] = found.id
            return None
        return deliveries.from_catalog(found, store.lake.path(found.archive)) if found else None

    def archive(sha256: str, settings: str) -> Location:
        return store.lake.delivery_path(sha256, build_id)

    delivered = deliveries.ingest(context.reader, context.config, archive, known, context.progress)
    rewritten = {
        unusable[key]: store.lake.relative(file.archive)
        for file in delivered
        if (key := (file.source, file.sha256, file.settings_sha256)) in unusable
    }
    if rewritten:
        store.replace_archives(rewritten)
    rows = store.add_deliveries([_new_delivery(store, file) for file in delivered])
    files = [deliveries.from_catalog(row, store.archive(row)) for row in (*rows, *_recordings(store))]
    deliveries.prepare_recordings(context.reader, files, context.notice)
    return files


def _recordings(store: Store) -> list[Delivery]:
    """Everything that collectors recorded, whether they are still in the settings or not, and received events."""
    sealing.seal_all(store)
    received.seal(store)
    return [delivery for _, delivery in store.catalog.recordings.segments()]


def _new_delivery(store: Store, file: DeliveredFile) -> NewDelivery:
    return NewDelivery(
        source=file.source,
        path=str(file.path),
        format=file.format,
        content_sha256=file.sha256,
        settings_sha256=file.settings_sha256,
        archive=store.lake.relative(file.archive),
        lines=file.lines,
    )
