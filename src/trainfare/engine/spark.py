"""Apache Spark: for bills that outgrow one machine. Runs the same steps and returns the same digits.

Every table is written as Parquet below a scratch folder that the driver and all workers see, so plans stay short and
the work of a lost worker is not lost with it. Views stay views. Only what `rows` requests is collected. In an object
store the workers use their own connector and the reader uses ours; a check at the start verifies that both see the same
objects.

The session's settings make Spark reject what it would otherwise round or turn into null, and treat all times as UTC. A
check at the start verifies that they are effective on the given cluster.
"""

import os
import re
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.spark_dialect import literal, reads_identically, to_spark, type_name
from trainfare.engine.sql import parquet, step_text
from trainfare.errors import TrainfareError
from trainfare.files.locations import SCHEME, Location, ObjectLocation, clear

EXACT = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.parquet.compression.codec": "snappy",
}
"""Settings that every session needs for the same digits. A user's settings cannot override them."""
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
ROOMY = {"spark.sql.autoBroadcastJoinThreshold": "2MB"}
"""Spark decides by file size what fits in the driver's memory; in memory our files take a hundred times as much."""
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "8"}
"""For a session in this process: nothing listens beyond this machine, and few partitions for few cores."""
PORTS = {"spark": "7077", "sc": "15002"}
"""Default ports of a master and of a Spark Connect server."""
EXACTNESS_CHECKS = (
    ("CAST(0.000000000001 AS DECIMAL(38,12)) + CAST(1 AS DECIMAL(38,12)) || ''", "1.000000000001"),
    ("epoch_second(TIMESTAMP '2026-03-29 02:30:00') || ''", "1774751400"),
    (
        "integer_part(CAST(10000000000000000000000000000 AS HUGEINT), 2, 3) || ''",
        "6666666666666666666666666666",
    ),
)
"""Expressions whose results show that a session computes exactly."""


@dataclass
class _Table:
    """A table of this engine: the folders that contain its rows, one more for each time rows were added."""

    schema: StructType
    folders: list[Location] = field(default_factory=list)


class Spark:
    """One Spark session and the embedded reader."""

    name = "spark"

    def __init__(
        self, scratch: Location, master: str = "", settings: Mapping[str, str] | None = None, s3_scheme: str = "s3a"
    ) -> None:
        self._scratch = scratch
        self._s3_scheme = s3_scheme
        self._numbers = count(1)
        self._tables: dict[str, _Table] = {}
        self._files: dict[tuple[Location, ...], str] = {}
        self.session, self._is_ours = _session(master, settings or {})
        scratch.mkdir(parents=True, exist_ok=True)
        self._spill = tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True)
        self._reader = DuckDB(spill=Path(self._spill.name))
        try:
            self._require_exactness(master)
        except BaseException:
            self.close()
            raise

    def _require_exactness(self, master: str) -> None:
        """Raise if the session would return other digits, or writes where the reader does not find it."""
        for query, answer in EXACTNESS_CHECKS:
            (found,) = self.row(f"SELECT {query}")
            if found != answer:
                do = "Use Apache Spark 4 with its own settings for decimals and time zones."
                raise TrainfareError(
                    _shown(master) or "spark", f"this Spark does not compute exactly: {query} is {found}", do
                )
        if isinstance(self._scratch, ObjectLocation):
            self._require_same_object_store()

    def _require_same_object_store(self) -> None:
        self.table("written_by_spark", "SELECT 1 AS one")
        (folder,) = self.folders("written_by_spark")
        if not folder.exists():
            setting = f'"spark.hadoop.fs.{self._s3_scheme}.endpoint"'
            do = f"Set its connector to the same store: {setting} under [engine.settings]."
            what = f"what Spark writes to {self._address(folder)} is not in the object store that this command reads"
            raise TrainfareError(str(folder), what, do)
        self.drop("written_by_spark")

    @property
    def reader(self) -> DuckDB:
        return self._reader

    def close(self) -> None:
        self._reader.close()
        if self._is_ours:
            self.session.stop()
        self._spill.cleanup()
        with suppress(TrainfareError):  # an object store that does not respond: the next build removes the rest
            clear(self._scratch)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with _translate_errors(self._scratch):
            return [tuple(row) for row in self._frame(sql).collect()]

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Return rows as dictionaries by column name."""
        with _translate_errors(self._scratch):
            return [row.asDict() for row in self._frame(sql).collect()]

    def table(self, name: str, select: str) -> None:
        """Write the rows of `select` to a new folder in the scratch folder, and read them from there."""
        frame = self._frame(select)
        self._tables[name] = _Table(frame.schema)
        self._write(name, frame)

    def view(self, name: str, select: str) -> None:
        self._tables.pop(name, None)
        self._frame(select).createOrReplaceTempView(name)

    def ingest(self, name: str, *selects: str) -> None:
        """Read typed Parquet and tables of this engine directly; the embedded reader converts everything else first."""
        own = [select for select in selects if self._can_read(select)]
        if foreign := [select for select in selects if select not in own]:
            folder = self._new_folder(name)
            self._reader.write_parquet(" UNION ALL ".join(foreign), folder / "ingested.parquet")
            own.append(f"SELECT * FROM {parquet(folder)}")
        self.view(name, " UNION ALL ".join(own))

    def _can_read(self, select: str) -> bool:
        """Return whether Spark reads this as the embedded reader does.

        Spark does not open a file at all if a column has a type that it does not know, such as a time of day.
        """
        if not reads_identically(select, self.session.catalog.tableExists):
            return False
        try:
            to_spark(select, self._view_of_files)
        except AnalysisException:
            return False
        return True

    def values(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Make a small table from Python values; it is part of the query plan and is not written."""
        typed = [re.fullmatch(r'"?(\w+)"? (.+)', one) for one in re.split(r", (?![0-9])", columns)]
        names = [(found[1], type_name(found[2])) for found in typed if found]
        listed = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
        nothing = f"({', '.join('NULL' for _ in names)})"
        casts = ", ".join(f"CAST(c{at} AS {type_}) AS `{column}`" for at, (column, type_) in enumerate(names))
        given = ", ".join(f"c{at}" for at in range(len(names)))
        frame = self.session.sql(
            f"SELECT {casts} FROM VALUES {listed or nothing} AS given({given}) {'' if listed else 'WHERE false'}"
        )
        self._tables[name] = _Table(frame.schema)
        frame.createOrReplaceTempView(name)
        if listed:
            self._tables.pop(name)

    def add(self, name: str, select: str) -> None:
        """Append rows to an existing table, cast to its types column by column."""
        made = self._tables[name]
        given = self._frame(select).toDF(*made.schema.names)
        self._write(name, given.select(*(given[one.name].cast(one.dataType) for one in made.schema.fields)))

    def move(self, name: str, into: str) -> None:
        """Move the rows of one table into another; if both have the same columns, no file is written."""
        given, made = self._tables[name], self._tables[into]
        if _types(given.schema) != _types(made.schema):
            self.add(into, f'SELECT * FROM "{name}"')
            self.drop(name)
            return
        made.folders.extend(given.folders)
        given.folders.clear()
        self._read(made.schema, made.folders).createOrReplaceTempView(into)
        self.drop(name)

    def drop(self, *names: str) -> None:
        """Drop tables and views, if they exist, with the files of the tables."""
        for name in names:
            self.session.catalog.dropTempView(name)
            made = self._tables.pop(name, None)
            for folder in made.folders if made else ():
                clear(folder)

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        """Run `name`.sql of `package` and store its result as table `into`."""
        self.table(into, step_text(package, name, fragments))

    def write_parquet(self, select: str, path: Location) -> None:
        """Write the rows of `select` as a folder of Parquet files."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with _translate_errors(path.parent):
            self._frame(select).write.parquet(self._address(path))

    def folders(self, table: str) -> list[Location]:
        """Return the folders with the rows of a table; none for a view."""
        return self._tables[table].folders if table in self._tables else []

    def plan(self, select: str) -> str:
        """Return how Spark would run `select`, as text for people."""
        return str(self.session.sql(f"EXPLAIN {to_spark(select, self._view_of_files)}").collect()[0][0])

    def _frame(self, sql: str) -> DataFrame:
        return self.session.sql(to_spark(sql, self._view_of_files))

    def _new_folder(self, name: str) -> Location:
        return self._scratch / f"{next(self._numbers):04}-{name}"

    def _write(self, name: str, frame: DataFrame) -> None:
        made, folder = self._tables[name], self._new_folder(name)
        with _translate_errors(self._scratch):
            frame.write.parquet(self._address(folder))
        made.folders.append(folder)
        self._read(made.schema, made.folders).createOrReplaceTempView(name)

    def _read(self, schema: StructType, folders: Sequence[Location]) -> DataFrame:
        return self.session.read.schema(schema).parquet(*(_plain(self._address(folder)) for folder in folders))

    def _address(self, location: Location) -> str:
        """Return the address that Spark uses for a location: its path, or the scheme of its object store connector."""
        if isinstance(location, ObjectLocation):
            return f"{self._s3_scheme}://{location.address.removeprefix(SCHEME)}"
        return str(location.absolute())

    def _view_of_files(self, paths: Sequence[Location], numbered: bool) -> str:
        """Return the view of these Parquet files; each set of files has one."""
        known = (*paths, Path("numbered")) if numbered else tuple(paths)
        if known not in self._files:
            frame = self.session.read.parquet(*(_plain(self._address(path)) for path in paths))
            if numbered:
                frame = frame.selectExpr("*", "_metadata.row_index AS file_row_number")
            self._files[known] = f"files_{len(self._files) + 1}"
            frame.createOrReplaceTempView(self._files[known])
        return self._files[known]


def _types(schema: StructType) -> list[tuple[str, str]]:
    return [(one.name, one.dataType.simpleString()) for one in schema.fields]


def _session(master: str, settings: Mapping[str, str]) -> tuple[SparkSession, bool]:
    """Return a session on the given master or the one of spark-submit, and whether we must stop it."""
    is_ours, is_remote = SparkSession.getActiveSession() is None, master.startswith("sc://")
    if is_remote:
        _require_connect()
    _require_master(master)
    builder = SparkSession.builder.appName("trainfare")
    if master:
        builder = builder.remote(master) if is_remote else builder.master(master)
    local = LOCAL if master.startswith("local") else {}
    for name, value in ({} if is_remote else {**QUIET, **ROOMY, **local, **settings}).items():
        builder = builder.config(name, value)
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    try:
        session = builder.getOrCreate()
        for name, value in {**({**ROOMY, **settings} if is_remote else {}), **EXACT}.items():
            session.conf.set(name, value)
        if is_ours and not is_remote:
            # It warns about every global row number, which is intended, and drowns the output of the command.
            session.sparkContext.setLogLevel("ERROR")
    except (PySparkException, OSError) as error:
        if "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError):
            do = "Install Java 17 or later, or set JAVA_HOME."
            raise TrainfareError("--engine spark", "Java could not be started", do) from error
        what = f"Spark does not respond: {str(error).splitlines()[0]}"
        raise TrainfareError(
            f"--spark-master {_shown(master)}", what, "Check its address and that it is running."
        ) from error
    return session, is_ours


def _require_connect() -> None:
    """Raise if the library for Spark Connect is missing."""
    try:
        import_module("grpc")
    except ImportError:
        do = "Install it: pip install 'trainfare[connect]'"
        raise TrainfareError("--spark-master sc://", "grpcio is not installed", do) from None


def _require_master(master: str) -> None:
    """Raise at once if nothing listens at the address; Spark would retry for a minute, and Connect for ten."""
    scheme, _, addresses = _shown(master).partition("://")
    if scheme not in PORTS:
        return
    for address in addresses.split(","):
        host, _, port = address.rpartition(":") if ":" in address else (address, "", PORTS[scheme])
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
            return
        except (OSError, ValueError):
            continue
    do = "Check its address and that it is running."
    raise TrainfareError(f"--spark-master {_shown(master)}", "nothing responds there", do)


def _shown(master: str) -> str:
    """Return a master without what follows its address, which may contain a token."""
    scheme, mark, rest = master.partition("://")
    return f"{scheme}{mark}{rest.split('/')[0]}"


_FULL = ("No space left on device", "Disk quota exceeded")
_UNSEEN = ("FileNotFoundException", "FILE_NOT_EXIST", "PATH_NOT_FOUND", "NoSuchFileException")
_MEMORY = ("Not enough memory", "OutOfMemoryError", "Java heap space", "UNABLE_TO_ACQUIRE_MEMORY")
_CONNECTOR = ("No FileSystem for scheme", "FileSystem not found", "UnsupportedFileSystemException")
_STOPPED = ("SparkContext was shut down", "stopped SparkContext", "All masters are unresponsive", "Connection refused")


@contextmanager
def _translate_errors(folder: Location) -> Iterator[None]:
    """Explain errors of the environment; any other error is ours and stays as it is."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if any(sign in text for sign in _MEMORY):
            do = (
                'Raise it under [engine.settings], for example "spark.driver.memory" or "spark.executor.memory" = "4g".'
            )
            raise TrainfareError("--engine spark", "Spark ran out of memory", do) from error
        if any(sign in text for sign in _FULL):
            do = "Free some space and run the command again. Published books are intact."
            raise TrainfareError(str(folder), "the disk is full", do) from error
        if any(sign in text for sign in _CONNECTOR):
            do = "Install it, or set another s3_scheme under [engine]: docs/howto/object-store.md."
            raise TrainfareError(str(folder), "this Spark has no connector for the object store", do) from error
        if any(sign in text for sign in _UNSEEN):
            do = "Put the workspace on a file system that the driver and every worker see under the same path."
            raise TrainfareError(str(folder), "a Spark worker does not see this folder, or a file in it", do) from error
        if any(sign in text for sign in _STOPPED):
            do = "Check Spark's log and run the command again. Published books are intact."
            raise TrainfareError("--engine spark", "Spark stopped during the build", do) from error
        raise


def _plain(address: str) -> str:
    """Return an address with the characters of patterns escaped for Spark."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", address)
