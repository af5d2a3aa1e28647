"""Declarations of the columns of our own files: what a value must be, what is read where it is empty, what to do.

A field first checks that required values are present, then that values can be read. Columns without a declaration are
optional and read by the type that the contract gives them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trainfare.engine.duckdb import quoted
from trainfare.errors import Problems
from trainfare.sources.raw import RawTable
from trainfare.tables import Table

EVERY_ROW = "Every row needs one."


class Field(Protocol):
    """How one column of a file is checked and read."""

    @property
    def name(self) -> str: ...
    @property
    def is_required(self) -> bool:
        """Whether the file must have the column."""

    def check_presence(self, raw: RawTable, problems: Problems) -> None:
        """Report rows without a required value."""

    def check_values(self, raw: RawTable, zone: str, problems: Problems) -> None:
        """Report values that cannot be read."""

    def select(self, raw: RawTable, zone: str) -> str:
        """Return SQL for the value."""


@dataclass(frozen=True)
class Name:
    """A required name: one text, not blank and not a list."""

    name: str
    do: str
    is_required: bool = field(default=True, init=False)

    def check_presence(self, raw: RawTable, problems: Problems) -> None:
        raw.check_name(problems, self.name, self.do)

    def check_values(self, raw: RawTable, zone: str, problems: Problems) -> None:
        """All checks of a name are made with its presence."""

    def select(self, raw: RawTable, zone: str) -> str:
        return raw.text(self.name)


@dataclass(frozen=True)
class Number:
    """A number below `limit` in size, and at least `least` if that is given."""

    name: str
    type: str
    limit: int
    do: str
    noun: str = "a number"
    least: int | None = None
    do_least: str = ""
    """What to do about a value below `least`, if not the same."""
    required: str = ""
    """What to do about a row without a value; empty: the value is optional."""
    default: str = ""
    """SQL for the value of rows without one."""

    @property
    def is_required(self) -> bool:
        return bool(self.required)

    def check_presence(self, raw: RawTable, problems: Problems) -> None:
        if self.required:
            raw.check_present(problems, self.name, self.required)

    def check_values(self, raw: RawTable, zone: str, problems: Problems) -> None:
        raw.check_number(problems, self.name, self.type, self.noun, self.limit, self.do)
        if self.least is not None:
            raw.check_at_least(problems, self.name, self.type, self.least, self.do_least or self.do)

    def select(self, raw: RawTable, zone: str) -> str:
        return _or_default(raw.number(self.name, self.type), self.default)


@dataclass(frozen=True)
class Time:
    """A time, or the day of one."""

    name: str
    do: str
    required: str = ""
    """What to do about a row without a value; empty: the value is optional."""
    column_required: bool = False
    """Whether the file must have the column although values may be empty."""
    any_year: bool = False

    @property
    def is_required(self) -> bool:
        return self.column_required or bool(self.required)

    def check_presence(self, raw: RawTable, problems: Problems) -> None:
        if self.required:
            raw.check_present(problems, self.name, self.required)

    def check_values(self, raw: RawTable, zone: str, problems: Problems) -> None:
        raw.check_time(problems, self.name, self.do, zone, self.any_year)

    def select(self, raw: RawTable, zone: str) -> str:
        return raw.timestamp(self.name, zone)


@dataclass(frozen=True)
class Choice:
    """One of a few words, in any case; read in lower case."""

    name: str
    allowed: Sequence[str]
    required: str = ""
    """What to do about a row without a value; empty: the value is optional."""
    default: str = ""
    """The word that rows without one mean."""

    @property
    def is_required(self) -> bool:
        return bool(self.required)

    def check_presence(self, raw: RawTable, problems: Problems) -> None:
        if self.required:
            raw.check_present(problems, self.name, self.required)

    def check_values(self, raw: RawTable, zone: str, problems: Problems) -> None:
        if raw.has(self.name):
            allowed = ", ".join(quoted(word) for word in self.allowed)
            bad = f"{raw.text(self.name)} IS NOT NULL AND lower({raw.text(self.name)}) NOT IN ({allowed})"
            message = f"{raw.described(self.name)} || ' is not a valid value'"
            raw.check(problems, bad, message, f"Use one of {', '.join(self.allowed)}.")

    def select(self, raw: RawTable, zone: str) -> str:
        return _or_default(f"lower({raw.text(self.name)})", quoted(self.default) if self.default else "")


@dataclass(frozen=True)
class OrderedTimes:
    """A check that no period ends before it starts."""

    start: str
    end: str
    do: str

    def __call__(self, raw: RawTable, zone: str, problems: Problems) -> None:
        start, end = (f"({raw.timestamp(name, zone)})" for name in (self.start, self.end))
        message = f"'{self.end} (' || {end} || ') is before {self.start} (' || {start} || ')'"
        times = [name for name in (self.start, self.end) if raw.is_text(name)]
        distinct = times if len(times) == 2 else []
        raw.check(problems, f"{end} < {start}", message, self.do, distinct)


def type_of(table: Table, name: str) -> str:
    """Return the type of a column."""
    return next(column.type for column in table.columns if column.name == name)


def _or_default(value: str, default: str) -> str:
    return f"coalesce({value}, {default})" if default else value
