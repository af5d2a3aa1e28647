"""What the stages need from an engine, and nothing else.

Steps are written in DuckDB's dialect. Every engine returns the same rows, digit for digit.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from trainfare.files.locations import Location

if TYPE_CHECKING:
    from trainfare.engine.duckdb import DuckDB


class Engine(Protocol):
    """Runs steps. Its tables and views are temporary and disappear when it is closed."""

    @property
    def name(self) -> str:
        """The name that a book records."""

    @property
    def reader(self) -> "DuckDB":
        """The embedded database that reads delivered files."""

    def close(self) -> None: ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]: ...

    def row(self, sql: str) -> tuple[Any, ...]: ...

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Return rows as dictionaries by column name."""

    def table(self, name: str, select: str) -> None:
        """Make a table from `select`, replacing one of that name, which `select` may read."""

    def view(self, name: str, select: str) -> None:
        """Name a query; it runs when it is read."""

    def ingest(self, name: str, *selects: str) -> None:
        """Make a view of the union of these SELECTs over tables of the reader, files, or tables of this engine."""

    def values(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Make a small table from Python values."""

    def add(self, name: str, select: str) -> None:
        """Append the rows of `select`, column by column, to an existing table."""

    def move(self, name: str, into: str) -> None:
        """Move the rows of one table into an existing one, without a copy where possible, and drop the first."""

    def drop(self, *names: str) -> None:
        """Drop tables and views, if they exist."""

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        """Run `name`.sql of `package` and store its result as table `into`."""

    def write_parquet(self, select: str, path: Location) -> None:
        """Write the rows of `select` as Parquet to `path`, a new file or folder."""
