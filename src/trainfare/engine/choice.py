"""Open the engine that runs an account. Spark is imported only when it is requested."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.errors import TrainfareError
from trainfare.files.locations import Location


@contextmanager
def embedded() -> Iterator[DuckDB]:
    """Open an embedded engine that spills to a temporary folder of its own."""
    with tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True) as spill:
        engine = DuckDB(spill=Path(spill))
        try:
            yield engine
        finally:
            engine.close()


@contextmanager
def open_engine(
    scratch: Location, name: str, master: str, settings: Mapping[str, str], s3_scheme: str
) -> Iterator[Engine]:
    """Open the engine of that name. Workers store tables below `scratch`, a folder that all of them see."""
    if name == "duckdb":
        with embedded() as engine:
            yield engine
        return
    try:
        from trainfare.engine.spark import Spark
    except ImportError as error:
        do = "Install it: pip install 'trainfare[spark]'"
        raise TrainfareError("--engine spark", f"{str(error.name).split('.')[0]} is not installed", do) from None
    spark = Spark(scratch, master, settings, s3_scheme)
    try:
        yield spark
    finally:
        spark.close()
