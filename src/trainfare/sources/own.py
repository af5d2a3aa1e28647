"""Trainfare's own files: a table of the contract as CSV, JSON lines or Parquet, read column by column as its types say."""

from collections.abc import Callable, Mapping, Sequence

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources.head import Head, look
from trainfare.sources.raw import Raw, open_raw, require_columns, told
from trainfare.sources.rows import header_names
from trainfare.tables import TEXT, TIME, Table

Check = Callable[[Raw, str, Faults], None]


def named(head: Head, wanted: Sequence[str]) -> set[str]:
    """Which of these columns a file has, as far as its beginning tells."""
    if head.is_parquet:
        return {name for name in wanted if name in head.parquet_columns}
    if head.is_json:
        return {name for name in wanted if f'"{name}"' in head.text}
    return {name.strip().lower() for name in header_names(head)} & set(wanted)


def read(
    engine: DuckDB,
    path: Place,
    into: str,
    zone: str,
    faults: Faults,
    table: Table,
    needed: Sequence[str],
    check: Check,
    instead: Mapping[str, Callable[[Raw, str], str]] | None = None,
) -> None:
    """Make view `into` with the columns of `table`; a bad row is a fault.

    `check` looks at the rows; `instead` gives SQL for columns that are not simply taken.
    """
    before = len(faults.found)
    head = look(path)
    raw = open_raw(engine, head, "delivered", faults)
    do = "See docs/reference/files.md for the columns of this file."
    if raw is None or not require_columns(raw, needed, table.names, faults, do):
        return
    with told(head, faults):
        check(raw, zone, faults)
    if len(faults.found) > before:
        return
    columns = {column.name: _taken(raw, column.name, column.type, zone) for column in table.columns}
    columns |= {name: sql(raw, zone) for name, sql in (instead or {}).items()}
    select = ", ".join(f"{columns[name]} AS {name}" for name in table.names)
    engine.view(into, table.typed_select(f"(SELECT {select} FROM {raw.relation})"))


def check_one_of(raw: Raw, faults: Faults, name: str, words: Sequence[str], do: str) -> None:
    """Every value of this column must be one of these words; small and capital letters are the same."""
    known = ", ".join(quoted(word) for word in words)
    bad = f"{raw.text(name)} IS NOT NULL AND lower({raw.text(name)}) NOT IN ({known})"
    raw.check(faults, bad, f"{raw.shown(name)} || ' is not known'", do)


def check_span(raw: Raw, faults: Faults, names: tuple[str, str], zone: str, do: str) -> None:
    """No row may end before it starts."""
    start, end = (f"({raw.moment(name, zone)})" for name in names)
    shown = f"'it ends (' || {end} || ') before it starts (' || {start} || ')'"
    raw.check(faults, f"{end} < {start}", shown, do)


def _taken(raw: Raw, name: str, type_: str, zone: str) -> str:
    if name == "line":
        return "line"
    if type_ == TIME:
        return raw.moment(name, zone)
    return raw.text(name) if type_ == TEXT else raw.number(name, type_)
