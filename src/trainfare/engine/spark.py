"""Apache Spark: for bills that outgrow one machine. Runs the same steps, and gives the same digits.

Every table is written as Parquet below a scratch folder that the driver and all workers see, so that plans stay short and what a
lost worker had done is not lost with it. Views stay what they are. Nothing is collected but what `rows` asks for. In an object store
the workers go by their own connector, and the reader by ours; that both find the same objects is tried out first.

The session's settings make Spark refuse what it would otherwise round or leave null, and take all time as UTC. Whether they
hold on the cluster that was given is tried out before anything is built.
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
from trainfare.engine.spark_words import literal, reads_alike, spelled, type_name
from trainfare.engine.sql import parquet, step_text
from trainfare.errors import TrainfareError
from trainfare.places import SCHEME, Place, Remote, clear

EXACT = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.parquet.compression.codec": "snappy",
}
"""What every session must have for the digits to be the same. A user's settings cannot overrule these."""
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
ROOMY = {"spark.sql.autoBroadcastJoinThreshold": "2MB"}
"""Spark judges by the size of files what the driver can hold whole, and ours take a hundredth of what their rows take in memory."""
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "8"}
"""For a session within this process: nothing listens beyond this machine, and few partitions for few cores."""
PORTS = {"spark": "7077", "sc": "15002"}
"""Where a master and a Spark Connect server listen if their address does not say."""
TRIED = (
    ("CAST(0.000000000001 AS DECIMAL(38,12)) + CAST(1 AS DECIMAL(38,12)) || ''", "1.000000000001"),
    ("epoch_second(TIMESTAMP '2026-03-29 02:30:00') || ''", "1774751400"),
    (
        "whole_part(CAST(10000000000000000000000000000 AS HUGEINT), 2, 3) || ''",
        "6666666666666666666666666666",
    ),
)
"""Queries whose answers show that a session counts exactly."""


@dataclass
class _Table:
    """A table made here: the folders its rows are in, which grow when rows are added."""

    schema: StructType
    folders: list[Place] = field(default_factory=list)


class Spark:
    """One Spark session and the embedded reader beside it."""

    name = "spark"

    def __init__(
        self, scratch: Place, master: str = "", settings: Mapping[str, str] | None = None, s3_scheme: str = "s3a"
    ) -> None:
        self._scratch = scratch
        self._s3_scheme = s3_scheme
        self._numbers = count(1)
        self._tables: dict[str, _Table] = {}
        self._files: dict[tuple[Place, ...], str] = {}
        self.session, self._is_ours = _session(master, settings or {})
        scratch.mkdir(parents=True, exist_ok=True)
        self._spill = tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True)
        self._reader = DuckDB(spill=Path(self._spill.name))
        try:
            self._try_out(master)
        except BaseException:
            self.close()
            raise

    def _try_out(self, master: str) -> None:
        """Refuse a session that would give other digits, or that writes where nobody else finds it."""
        for query, answer in TRIED:
            (found,) = self.row(f"SELECT {query}")
            if found != answer:
                do = "Use Apache Spark 4 with its own settings for decimals and time zones."
                raise TrainfareError(
                    _shown(master) or "spark", f"this Spark does not count exactly: {query} is {found}", do
                )
        if isinstance(self._scratch, Remote):
            self._try_object_store()

    def _try_object_store(self) -> None:
        self.table("tried_out", "SELECT 1 AS one")
        (folder,) = self.folders("tried_out")
        if not folder.exists():
            do = f'Give its connector the same store: "spark.hadoop.fs.{self._s3_scheme}.endpoint" under [engine.settings].'
            what = f"what Spark writes to {self._address(folder)} is not in the object store that this command reads"
            raise TrainfareError(str(folder), what, do)
        self.drop("tried_out")

    @property
    def reader(self) -> DuckDB:
        return self._reader

    def close(self) -> None:
        self._reader.close()
        if self._is_ours:
            self.session.stop()
        self._spill.cleanup()
        with suppress(TrainfareError):  # an object store that does not answer: the next build sweeps what is left
            clear(self._scratch)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with _told(self._scratch):
            return [tuple(row) for row in self._frame(sql).collect()]

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Rows as dictionaries by column name."""
        with _told(self._scratch):
            return [row.asDict() for row in self._frame(sql).collect()]

    def table(self, name: str, select: str) -> None:
        """Write what `select` gives to the scratch folder, under a new name, and read it from there."""
        frame = self._frame(select)
        self._tables[name] = _Table(frame.schema)
        self._write(name, frame)

    def view(self, name: str, select: str) -> None:
        self._tables.pop(name, None)
        self._frame(select).createOrReplaceTempView(name)

    def taken(self, name: str, *selects: str) -> None:
        """Read typed Parquet and our own tables where they are; all else the embedded reader writes as typed Parquet first."""
        own = [select for select in selects if self._can_take(select)]
        if foreign := [select for select in selects if select not in own]:
            folder = self._new_folder(name)
            self._reader.write_parquet(" UNION ALL ".join(foreign), folder / "taken.parquet")
            own.append(f"SELECT * FROM {parquet(folder)}")
        self.view(name, " UNION ALL ".join(own))

    def _can_take(self, select: str) -> bool:
        """Whether Spark reads what this names as the embedded reader does. A file with a column of a type that Spark does not know, a time
        of day for one, it does not open at all, whatever is asked of it.
        """
        if not reads_alike(select, self.session.catalog.tableExists):
            return False
        try:
            spelled(select, self._opened)
        except AnalysisException:
            return False
        return True

    def values(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Make a small table from Python values; it stays within plans and is written nowhere."""
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
        """Add rows to a table that was made before; they are cast to its types, column by column."""
        made = self._tables[name]
        given = self._frame(select).toDF(*made.schema.names)
        self._write(name, given.select(*(given[one.name].cast(one.dataType) for one in made.schema.fields)))

    def move(self, name: str, into: str) -> None:
        """Put the rows of one table into another; where both are made alike, their files stay where they are."""
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
        """Take tables and views away, if they are there, and what the tables hold on disk."""
        for name in names:
            self.session.catalog.dropTempView(name)
            made = self._tables.pop(name, None)
            for folder in made.folders if made else ():
                clear(folder)

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        """Run `name`.sql of `package` and keep its answer as table `into`."""
        self.table(into, step_text(package, name, fragments))

    def write_parquet(self, select: str, path: Place) -> None:
        """Write what `select` gives as a folder of Parquet files."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with _told(path.parent):
            self._frame(select).write.parquet(self._address(path))

    def folders(self, table: str) -> list[Place]:
        """Where the rows of a table made here are; none for a view."""
        return self._tables[table].folders if table in self._tables else []

    def plan(self, select: str) -> str:
        """How Spark would run `select`, for people to read."""
        return str(self.session.sql(f"EXPLAIN {spelled(select, self._opened)}").collect()[0][0])

    def _frame(self, sql: str) -> DataFrame:
        return self.session.sql(spelled(sql, self._opened))

    def _new_folder(self, name: str) -> Place:
        return self._scratch / f"{next(self._numbers):04}-{name}"

    def _write(self, name: str, frame: DataFrame) -> None:
        made, folder = self._tables[name], self._new_folder(name)
        with _told(self._scratch):
            frame.write.parquet(self._address(folder))
        made.folders.append(folder)
        self._read(made.schema, made.folders).createOrReplaceTempView(name)

    def _read(self, schema: StructType, folders: Sequence[Place]) -> DataFrame:
        return self.session.read.schema(schema).parquet(*(_plain(self._address(folder)) for folder in folders))

    def _address(self, place: Place) -> str:
        """Where Spark finds a place: as everybody does, or in an object store by the name that its connector has for that."""
        if isinstance(place, Remote):
            return f"{self._s3_scheme}://{place.address.removeprefix(SCHEME)}"
        return str(place.absolute())

    def _opened(self, paths: Sequence[Place], numbered: bool) -> str:
        """A name for these Parquet files, given once."""
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
    """A session on the given master, or on whatever spark-submit gives; and whether it is ours to stop."""
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
            # It warns of every table that is numbered in one order, which is meant, and drowns what the command says.
            session.sparkContext.setLogLevel("ERROR")
    except (PySparkException, OSError) as error:
        if "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError):
            do = "Install Java 17 or later, or set JAVA_HOME."
            raise TrainfareError("--engine spark", "Java could not be started", do) from error
        what = f"Spark does not answer: {str(error).splitlines()[0]}"
        raise TrainfareError(f"--spark-master {_shown(master)}", what, "Check its address and that it runs.") from error
    return session, is_ours


def _require_connect() -> None:
    """What a session behind Spark Connect needs beside Spark."""
    try:
        import_module("grpc")
    except ImportError:
        do = "Install it: pip install 'trainfare[connect]'"
        raise TrainfareError("--spark-master sc://", "grpcio is not installed", do) from None


def _require_master(master: str) -> None:
    """Refuse at once an address where nothing listens; Spark itself would try for a minute, and Connect for ten."""
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
    do = "Check its address and that it runs."
    raise TrainfareError(f"--spark-master {_shown(master)}", "nothing answers there", do)


def _shown(master: str) -> str:
    """A master without what follows its address, where a token may stand."""
    scheme, mark, rest = master.partition("://")
    return f"{scheme}{mark}{rest.split('/')[0]}"


_FULL = ("No space left on device", "Disk quota exceeded")
_UNSEEN = ("FileNotFoundException", "FILE_NOT_EXIST", "PATH_NOT_FOUND", "NoSuchFileException")
_MEMORY = ("Not enough memory", "OutOfMemoryError", "Java heap space", "UNABLE_TO_ACQUIRE_MEMORY")
_CONNECTOR = ("No FileSystem for scheme", "FileSystem not found", "UnsupportedFileSystemException")
_STOPPED = ("SparkContext was shut down", "stopped SparkContext", "All masters are unresponsive", "Connection refused")


@contextmanager
def _told(folder: Place) -> Iterator[None]:
    """Name the faults of the surroundings; anything else is ours, and stays as it is."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if any(sign in text for sign in _MEMORY):
            do = 'Give it more under [engine.settings]: "spark.driver.memory" or "spark.executor.memory" = "4g", for example.'
            raise TrainfareError("--engine spark", "Spark ran out of memory", do) from error
        if any(sign in text for sign in _FULL):
            do = "Free some space and run the command again; what was published stands."
            raise TrainfareError(str(folder), "the disk is full", do) from error
        if any(sign in text for sign in _CONNECTOR):
            do = "Give it the one for this object store, or another s3_scheme under [engine]: docs/howto/object-store.md."
            raise TrainfareError(str(folder), "this Spark has no connector for the object store", do) from error
        if any(sign in text for sign in _UNSEEN):
            do = "Put the workspace on a file system that the driver and every worker see under the same path."
            raise TrainfareError(
                str(folder), "a worker of Spark does not see this folder, or a file in it", do
            ) from error
        if any(sign in text for sign in _STOPPED):
            do = "Look at Spark's own log, and run the command again; what was published stands."
            raise TrainfareError("--engine spark", "Spark went away during the build", do) from error
        raise


def _plain(address: str) -> str:
    """An address as Spark reads it, with the marks of patterns made plain."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", address)
