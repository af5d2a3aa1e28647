"""What the stages need of an engine, and nothing else.

Steps are written in DuckDB's dialect. Whatever runs them gives the same rows, digit for digit.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from trainfare.places import Place

if TYPE_CHECKING:
    from trainfare.engine.duckdb import DuckDB


class Engine(Protocol):
    """Runs steps. Tables and views made here are temporary and go when it is closed."""

    @property
    def name(self) -> str:
        """What a book says of the engine that built it."""

    @property
    def reader(self) -> "DuckDB":
        """The embedded database that takes in files as they come."""

    def close(self) -> None: ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]: ...

    def row(self, sql: str) -> tuple[Any, ...]: ...

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Rows as dictionaries by column name."""

    def table(self, name: str, select: str) -> None:
        """Make a table of what `select` gives, replacing one of that name, which `select` may read."""

    def view(self, name: str, select: str) -> None:
        """Give `select` a name; it runs when it is read."""

    def taken(self, name: str, *selects: str) -> None:
        """Give a name to the rows of all of these: what the reader took in, files, or tables that were made here."""

    def values(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Make a small table from Python values."""

    def add(self, name: str, select: str) -> None:
        """Add what `select` gives, column by column, to a table that was made before."""

    def move(self, name: str, into: str) -> None:
        """Put the rows of one table into another that was made before, without a copy where that can be; the first is gone then."""

    def drop(self, *names: str) -> None:
        """Take tables and views away, if they are there."""

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        """Run `name`.sql of `package` and keep its answer as table `into`."""

    def write_parquet(self, select: str, path: Place) -> None:
        """Write what `select` gives as Parquet to `path`, a file or a folder that is not there yet."""
