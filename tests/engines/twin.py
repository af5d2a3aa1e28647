"""Two engines that run the same statements and must never return different results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.spark import Spark
from trainfare.engine.sql import parquet, quoted, step_text

ENGINE_COLUMNS = ("kind", "holding")
"""Columns with hashes or unordered numbers: they distinguish rows within one engine and mean nothing to another."""


@dataclass
class Twin:
    """Runs everything on both engines and compares every table, row by row and digit by digit."""

    duckdb: DuckDB
    spark: Spark
    name: str = "twin"
    steps: set[str] = field(default_factory=set)
    compared: int = 0

    def __post_init__(self) -> None:
        """Read files once: both engines start from the rows of the same reader."""
        self.spark.reader.close()
        self.spark._reader = self.duckdb

    @property
    def reader(self) -> DuckDB:
        return self.duckdb

    def close(self) -> None:
        self.spark.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        one, other = self.duckdb.rows(sql), self.spark.rows(sql)
        assert in_order(one) == in_order(other), sql
        return one

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def records(self, sql: str) -> list[dict[str, Any]]:
        one, other = self.duckdb.records(sql), self.spark.records(sql)
        assert in_order(map(str, one)) == in_order(map(str, other)), sql
        return one

    def table(self, name: str, select: str) -> None:
        self._make_room(name, "VIEW")
        self._both("table", name, select)

    def view(self, name: str, select: str) -> None:
        self._make_room(name, "LOCAL TEMPORARY")
        for engine in (self.duckdb, self.spark):
            engine.view(name, select)

    def ingest(self, name: str, *selects: str) -> None:
        self._both("ingest", name, *selects)

    def values(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        listed = [list(row) for row in rows]
        self._both("values", name, columns, listed)

    def add(self, name: str, select: str) -> None:
        self._both("add", name, select)

    def move(self, name: str, into: str) -> None:
        for engine in (self.duckdb, self.spark):
            engine.move(name, into)
        self.compare(into)

    def drop(self, *names: str) -> None:
        """Keep all tables, so that a test can inspect them."""

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        self.steps.add(f"{package}/{name}")
        self.table(into, step_text(package, name, fragments))

    def write_parquet(self, select: str, path: Path) -> None:
        """Write with both engines, read each file with the other engine, and leave DuckDB's for the caller."""
        beside = path.with_name(f"{path.name}-spark")
        self.duckdb.write_parquet(select, path)
        self.spark.write_parquet(select, beside)
        one, other = (self.duckdb.columns(parquet(written)) for written in (path, beside))
        assert one == other, select
        written = [self.duckdb.rows(f"SELECT * FROM {parquet(each)}") for each in (path, beside)]
        assert in_order(written[0]) == in_order(written[1]), select
        assert in_order(self.spark.rows(f"SELECT * FROM {parquet(path)}")) == in_order(written[0]), select

    def compare(self, name: str) -> None:
        """Assert that a table has the same columns, rows and digits in both engines."""
        columns = [column for column in self.duckdb.columns(f'"{name}"') if column not in ENGINE_COLUMNS]
        assert columns == [one for one in self.spark.session.table(name).columns if one not in ENGINE_COLUMNS], name
        listed = ", ".join(f'"{column}"' for column in columns)
        one = in_order(self.duckdb.rows(f'SELECT {listed} FROM "{name}"'))
        # Spark is slow to return rows, so DuckDB reads the files that Spark wrote.
        written = self.spark.folders(name)
        reader, theirs = (self.duckdb, parquet(*written)) if written else (self.spark, f'"{name}"')
        other = in_order(reader.rows(f"SELECT {listed} FROM {theirs}"))
        for here, there in zip(one, other, strict=False):
            assert here == there, (name, [(c, a, b) for c, a, b in zip(columns, here, there, strict=True) if a != b])
        assert len(one) == len(other), name
        self.compared += 1

    def _make_room(self, name: str, kind: str) -> None:
        """Drop the table or view of this name, as a stage would have done."""
        found = self.duckdb.rows(f"SELECT table_type FROM information_schema.tables WHERE table_name = {quoted(name)}")
        if found == [(kind,)]:
            self.duckdb.drop(name)

    def _both(self, method: str, name: str, *given: Any) -> None:
        for engine in (self.duckdb, self.spark):
            getattr(engine, method)(name, *given)
        self.compare(name)


def in_order(rows: Iterable[Any]) -> list[Any]:
    """Return rows sorted by their text, so that their order does not matter."""
    return sorted((tuple(map(_comparable, row)) if isinstance(row, tuple) else row for row in rows), key=repr)


def _comparable(value: Any) -> Any:
    """Return a wide integer as int; Spark returns it as a Decimal."""
    return int(value) if isinstance(value, Decimal) and value.as_tuple().exponent == 0 else value
