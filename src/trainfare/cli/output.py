"""Print the records of a command as a table, JSON, CSV or Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainfare.cli import terminal
from trainfare.report import records

Record = dict[str, Any]


@dataclass(frozen=True)
class Listing:
    """Records, and how each format shows them.

    Tables and Markdown show `columns` of `display`, which is `records` unless given; JSON and CSV show every field.
    """

    name: str
    """The key of the records in JSON, and the title of the table if there is no other."""
    records: Sequence[Record]
    columns: Sequence[str]
    title: str = ""
    display: Sequence[Record] | None = None
    fields: Sequence[str] = ()
    """The header of a CSV without records; `columns` if not given."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What JSON states about all records."""
    max_rows: int = 40
    """The most rows that a table shows."""


def show(listing: Listing, format_: str) -> None:
    """Print a listing to stdout. CSV always has a header."""
    display = listing.records if listing.display is None else listing.display
    if format_ == "json":
        print(records.as_json(listing.name, listing.records, **listing.facts))
    elif format_ == "csv" and not listing.records:
        print(",".join(listing.fields or listing.columns))
    elif format_ == "csv":
        print(records.as_csv(listing.records), end="")
    elif format_ == "md":
        print(records.as_markdown(display, listing.columns), end="")
    else:
        title = listing.title or listing.name.capitalize()
        terminal.show(records.as_table(title, display, listing.columns, listing.max_rows))
