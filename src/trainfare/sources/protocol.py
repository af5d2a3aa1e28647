"""What a source is: one module per file format that recognizes, archives and returns rows.

A module satisfies `Source` by defining its members at the top level. Adding a format means adding such a module and
listing it in `registry.SOURCES`; nothing else knows formats by name.
"""

from dataclasses import dataclass
from typing import Protocol

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.tables import Table


@dataclass(frozen=True)
class ReadOptions:
    """Settings that decide how the values in a file are read."""

    zone: str = "UTC"
    """The time zone of times without an offset."""
    currency: str | None = None
    """The currency of bills that name none."""


@dataclass(frozen=True)
class ArchivedFile:
    """The archived copy of a delivered file."""

    location: Location
    delivery: int
    """Number of the delivery in the catalog."""
    source: str
    """Name of the source in the settings."""


class Source(Protocol):
    """Reads one file format."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """The name of the format in the catalog."""

    @property
    def KIND(self) -> Kind:  # noqa: N802
        """What such a file holds."""

    @property
    def VERSION(self) -> str:  # noqa: N802
        """Part of an archived copy's identity. Raise it when the module starts to read the same file differently."""

    @property
    def DESCRIPTION(self) -> str:  # noqa: N802
        """What is read, for people."""

    def recognize(self, head: Head) -> bool:
        """Return whether a file is of this format, judging by its beginning."""

    def archive(self, engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
        """Check every row, write a copy to `target` and return the number of rows.

        With any problem, all problems are reported, nothing is written and the result is 0. Record in `head.tally` how
        many rows were found: `raw.open_table` does. They are counted again, and a file that was not read completely is
        refused.
        """

    def rows(self, engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
        """Return a SELECT of the rows of `table` in an archived file, or None if this format has no rows of it.

        There are always rows of `KIND.table`, and may be rows of others.
        """
