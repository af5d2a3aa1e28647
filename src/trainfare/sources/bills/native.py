"""Bills in a provider's own format: a declared mapping turns each row into charges, and the row itself is archived.

A reader of such a bill is one module with `READER = NativeBill(...)`, listed in `registry.SOURCES`: an instance has the
members of `Source`, so nothing else has to be written. It declares

- `fields`: the columns of the file that are read, by the name that expressions use. Spelling does not matter
  (`lineItem/UnblendedCost` is `line_item_unblended_cost`); a column that the file lacks is null. An amount is an exact
  decimal in expressions, a time is in UTC, everything else is text, or as `derive` makes it of the file's columns.
- `parts`: what charges a row becomes. Each part is a condition and a mapping: FOCUS column -> SQL expression over the
  fields. A row that no part takes is no charge; one that several take becomes several. FOCUS columns without an
  expression are null; `charges.REQUIRED` must have one. The result is checked and read by `charges.py`, as FOCUS is.
- `check`: more checks of the opened file, if the format has rules of its own.

The archived copy has the file's own columns: text is typed if that loses nothing. `lines_per_row` is the factor
between rows and lines of charges: charge `line` is row `line // lines_per_row` of the file, counted from 1.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location, copy
from trainfare.money import PLACES
from trainfare.sources.bills import charges
from trainfare.sources.bills.checks import CHECKS, BillCheck
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import (
    DECIMALS,
    INTEGERS,
    RawTable,
    columns_with_blanks,
    describe_table,
    open_table,
    parquet_rows,
    require_columns,
    translate_errors,
)
from trainfare.sources.rows import header_names, identifier, plain_name, simplified
from trainfare.tables import CHARGES, MONEY, Table

CHECKED = frozenset(
    {
        *charges.AMOUNTS.values(),
        *charges.TIMES.values(),
        *("BillingCurrency", "ChargeCategory", "Tags", "SkuPriceDetails", "x_TrainfareNote"),
    }
)
"""The FOCUS columns that are checked, or that a check depends on."""
PARTS_PER_ROW = 1000
"""How many charges a row can become, if it can become several."""


class Holds(StrEnum):
    """What a field is in expressions."""

    TEXT = "text"
    AMOUNT = "an amount"
    TIME = "a time"
    ANYTHING = "anything"
    """Of the type that the column has in the file: text in a text file."""


@dataclass(frozen=True)
class Field:
    """A column of the file, by the name that expressions use."""

    name: str
    holds: Holds = Holds.TEXT
    aliases: tuple[str, ...] = ()
    """Other names of the same column, by preference. Only letters and digits are compared."""
    is_required: bool = False
    derive: Callable[[RawTable], str | None] | None = None
    """Returns SQL for the field over the file's columns, or None if the file has nothing to derive it from."""

    def column_of(self, raw: RawTable) -> str | None:
        """Return the file's column that this is, as `raw` names it."""
        return column_in(raw, (self.name, *self.aliases))

    @property
    def spellings(self) -> tuple[str, ...]:
        return tuple(simplified(name) for name in (self.name, *self.aliases))

    def sql(self, raw: RawTable, zone: str, amounts: str) -> str:
        """Return SQL for the field's value; null if the file does not have it. `amounts` is the type of amounts."""
        if self.derive:
            return self.derive(raw) or "CAST(NULL AS VARCHAR)"
        column = self.column_of(raw)
        if self.holds is Holds.TIME:
            return raw.timestamp(column or "", zone)
        if self.holds is Holds.AMOUNT:
            return exact_amount(raw, column, amounts)
        if self.holds is Holds.ANYTHING and column:
            return raw.column(column)[0]
        return raw.text(column or "")


@dataclass(frozen=True)
class Part:
    """Charges that rows become: one for each row that `where` selects, or one for each entry of a list in it."""

    columns: Mapping[str, str]
    """FOCUS column -> SQL expression over the fields."""
    where: str = "true"
    each: str = ""
    """A FROM item that is joined to each row, as in `unnest(credits) AS each(credit)`, for several charges per row."""
    number: int = 0
    """Distinguishes the charges of one row. The entries of a list are numbered from here on."""
    position: str = "0"
    """SQL for the position of an entry of the list, from 0 on."""


@dataclass(frozen=True)
class Conversion:
    """A charge of a native bill: the row of the file, and what each FOCUS column was made of."""

    native: dict[str, Any]
    """The row as archived, by the file's own column names."""
    expressions: dict[str, str]
    """FOCUS column -> expression."""
    focus: dict[str, Any]
    """FOCUS column -> value."""


def unrefined(raw: RawTable, select: str) -> str:
    """Return the rows with their fields as they are."""
    return select


def nothing_more(raw: RawTable, problems: Problems) -> None:
    """Check nothing else."""


@dataclass(frozen=True)
class NativeBill:
    """The reader of one native format; satisfies `Source`."""

    NAME: str
    DESCRIPTION: str
    VERSION: str
    fields: tuple[Field, ...]
    parts: tuple[Part, ...]
    export_advice: str
    """What to do if columns are missing."""
    recognizes: Callable[[Head], bool] | None = None
    """Whether a file has this format; by default, if it has every required column."""
    open: Callable[[DuckDB, Head, str, Problems], RawTable | None] = open_table
    """Loads the rows of a file, as `raw.open_table` does."""
    check: Callable[[RawTable, Problems], None] = nothing_more
    refine: Callable[[RawTable, str], str] = unrefined
    """Given the file and a SELECT of its rows with their fields, returns one with more columns for expressions to use:
    those that need several fields, or other rows."""
    beside: Callable[[DuckDB, Any, Sequence[Any], str], str] | None = None
    """Given a delivered file, the others of this format and a SELECT of the file's charges, returns one of those that
    count next to the others, if the format has files that repeat what others have."""
    zone: str = "UTC"
    """The time zone of times without an offset."""
    has_local_times: bool = False
    """Whether the times of charges, not only those of fields, are local times where they have no offset."""
    checks: tuple[BillCheck, ...] = ()
    """What the provider's own rules say about the rows, over the fields."""
    made_json: Callable[[RawTable], frozenset[str]] = lambda raw: frozenset()
    """Which of Tags and SkuPriceDetails the mapping makes of a file, as JSON objects: they need no check."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What is stored in the archived copy next to its columns."""
    KIND: Kind = Kind.BILL

    @property
    def lines_per_row(self) -> int:
        return 1 if len(self.parts) == 1 and not self.parts[0].each else PARTS_PER_ROW

    def recognize(self, head: Head) -> bool:
        if self.recognizes:
            return self.recognizes(head)
        names = head.parquet_columns if head.is_parquet else [] if head.is_json else header_names(head)
        given = {simplified(name) for name in names}
        return all(given.intersection(field.spellings) for field in self.fields if field.is_required)

    def archive(self, engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
        before = len(problems.found)
        raw = self.open(engine, head, "delivered", problems)
        if raw is None:
            return 0
        with translate_errors(head, problems):
            self._check(raw, head, options, problems)
        if len(problems.found) > before:
            return 0
        target.parent.mkdir(parents=True, exist_ok=True)
        if head.is_parquet and not self.metadata:
            copy(head.path, target)
        else:
            engine.write_parquet(self._archived(raw), target, in_order=True, metadata=self.metadata)
        lines: int = engine.row(f"SELECT count(*) FROM {raw.relation}")[0]
        engine.run(f"DROP {'VIEW' if head.is_parquet else 'TABLE'} {raw.relation}")
        return lines

    def _check(self, raw: RawTable, head: Head, options: ReadOptions, problems: Problems) -> None:
        """Check the file's own columns first, and only if all can be read, what becomes of them."""
        before = len(problems.found)
        given = {field: column for field in self.fields if not field.derive and (column := field.column_of(raw))}
        if head.is_parquet:
            charges.check_wide(raw, [c for f, c in given.items() if f.holds is Holds.AMOUNT], problems)
            raw.read_all(given.values())
        missing = [field.name for field in self.fields if field.is_required and field not in given]
        known = {name for field in self.fields for name in (field.name, *field.aliases, *given.values())}
        require_columns(raw, missing, known, problems, self.export_advice)
        charges.check_amounts(raw, [c for f, c in given.items() if f.holds is Holds.AMOUNT], problems)
        charges.check_times(raw, [c for f, c in given.items() if f.holds is Holds.TIME], problems)
        self.check(raw, problems)
        if len(problems.found) == before:
            with converted(raw, self._mapped(raw, CHECKED - self.made_json(raw))) as focus:
                charges.check(replace(focus, line_numbers=self._row_lines(raw)), options.currency, problems)

    def _row_lines(self, raw: RawTable) -> Callable[[Any], Any]:
        return lambda lines: raw.line_numbers([line // self.lines_per_row for line in lines])

    def _archived(self, raw: RawTable) -> str:
        """Return a SELECT of the rows as they are archived: times and amounts in text are typed if nothing is lost."""
        typed = {}
        for one in self.fields:
            column = None if one.derive else one.column_of(raw)
            if column and raw.is_text(column):
                if one.holds is Holds.TIME:
                    typed[column] = raw.timestamp(column, self.zone)
                elif one.holds is Holds.AMOUNT and raw.is_plain_decimal(column):
                    typed[column] = raw.number(column, MONEY)
        replaced = ", ".join(f"{sql} AS {raw.column(name)[0]}" for name, sql in typed.items())
        return f"SELECT * EXCLUDE (line) {f'REPLACE ({replaced})' if replaced else ''} FROM {raw.relation}"

    def rows(self, engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
        """Return a SELECT of the archived charges."""
        if table is CHECKS and self.checks:
            return self._check_rows(engine, file, options)
        if table is not CHARGES:
            return None
        raw = self.opened(engine, file)
        select = self.focus(raw)
        focus = RawTable(engine, f"({select})", file.location, _columns(engine, select), str(file.location))
        columns = charges.charge_columns(focus, options.currency, may_start_blank=True)
        if "Tags" in self.made_json(raw):
            columns["tags"] = focus.text("Tags")
        columns |= {
            "delivery": f"CAST({file.delivery} AS INTEGER)",
            "line": "line",
            "source": quoted(file.source),
        }
        chosen = ", ".join(f'{columns[name]} AS "{name}"' for name in CHARGES.names)
        return f"SELECT {chosen} FROM ({select})"

    def _check_rows(self, engine: DuckDB, file: ArchivedFile, options: ReadOptions) -> str:
        """Return a SELECT of the sums that the provider's own rules are about."""
        rows = f"({self.prepared(self.opened(engine, file))})"
        first = self.parts[0].columns
        currency = first.get("BillingCurrency", "NULL")
        if options.currency:
            currency = f"coalesce({currency}, {quoted(options.currency)})"
        start = first["ChargePeriodStart"]
        period = (
            f"coalesce({first.get('BillingPeriodStart', 'NULL')}, date_trunc('month', {start}))",
            f"coalesce({first.get('BillingPeriodEnd', 'NULL')}, date_trunc('month', {start}))",
            currency,
        )
        return " UNION ALL ".join(one.select(rows, period, file.delivery, file.source) for one in self.checks)

    def focus_rows(self, engine: DuckDB, file: ArchivedFile) -> str:
        """Return a SELECT of the archived charges with FOCUS columns, and their lines."""
        return self.focus(self.opened(engine, file))

    def opened(self, engine: DuckDB, file: ArchivedFile) -> RawTable:
        """Return the archived rows, with their own columns."""
        select = parquet_rows(file.location, columns_with_blanks(engine, file.location))
        columns = {low: one for low, one in _columns(engine, select).items() if low != "line"}
        return RawTable(engine, f"({select})", file.location, columns, str(file.location))

    def focus(self, raw: RawTable) -> str:
        """Return a SELECT of the charges with FOCUS columns and their lines."""
        select = self._mapped(raw)
        return _in_utc(raw, select, self.zone) if self.has_local_times and self.zone != "UTC" else select

    def prepared(self, raw: RawTable) -> str:
        """Return a SELECT of the file's rows with the fields, and `native_line`."""
        given = [one.column_of(raw) for one in self.fields if one.holds is Holds.AMOUNT and not one.derive]
        amounts = amount_type(raw, [column for column in given if column])
        fields = ", ".join(f"{one.sql(raw, self.zone, amounts)} AS {identifier(one.name)}" for one in self.fields)
        return f"SELECT line AS native_line{', ' * bool(fields)}{fields} FROM {raw.relation}"

    def _mapped(self, raw: RawTable, only: Iterable[str] | None = None) -> str:
        """Return a SELECT of the charges as the mapping makes them, or `only` some of their columns."""
        mapped = list(dict.fromkeys(name for part in self.parts for name in part.columns))
        names = [name for name in mapped if only is None or name in only]
        origin = f"({self.refine(raw, self.prepared(raw))})"
        selects = []
        for part in self.parts:
            line = "native_line"
            if self.lines_per_row > 1:
                line = f"CAST(native_line * {self.lines_per_row} + {part.number} + {part.position} AS BIGINT)"
            values = ", ".join(f"({part.columns.get(name, 'NULL')}\n) AS {identifier(name)}" for name in names)
            each = f", {part.each}" if part.each else ""
            selects.append(f"SELECT {line} AS line, {values} FROM {origin}{each} WHERE ({part.where}\n)")
        return " UNION ALL ".join(selects)

    def conversion(self, engine: DuckDB, file: ArchivedFile, line: int) -> Conversion | None:
        """Return how the charge at `line` was made; None if the file has no such line."""
        raw = self.opened(engine, file)
        row = f"line = {line // self.lines_per_row}"
        native = engine.records(f"SELECT * EXCLUDE (line) FROM {raw.relation} WHERE {row}")
        select = self.focus(raw)
        focus = engine.records(f"SELECT * EXCLUDE (line) FROM ({select}) WHERE line = {line}")
        if not native or not focus:
            return None
        return Conversion(native[0], self._expressions(line), focus[0])

    def _expressions(self, line: int) -> dict[str, str]:
        """Return the mapping of the part that made this line."""
        number = line % self.lines_per_row
        made = max((part for part in self.parts if part.number <= number), key=lambda part: part.number)
        return dict(made.columns)


def column_in(raw: RawTable, names: Iterable[str]) -> str | None:
    """Return the file's column with the first of these names that it has, as `raw` names it.

    Only letters and digits are compared; a translated name may have the original in brackets.
    """
    found = {simplified(plain_name(name)): name for name in raw.columns}
    found |= {simplified(name): name for name in raw.columns}
    return next((found[name] for name in map(simplified, names) if name in found), None)


@contextmanager
def converted(raw: RawTable, select: str) -> Iterator[RawTable]:
    """Yield the charges of an opened file as a raw table, for checks; they are computed once."""
    raw.engine.table("converted", select)
    yield replace(describe_table(raw.engine, "converted", raw.path), header=raw.header)
    raw.engine.drop("converted")


def amount_type(raw: RawTable, columns: Iterable[str]) -> str:
    """Return the one type of all amounts of a file: a decimal that loses nothing.

    With different types, the engine would cut off digits of one of them.
    """
    given = list(columns)
    if any(raw.is_text(column) for column in given):
        return MONEY if all(_fits_money(raw.column(column)[1]) for column in given) else charges.FINE
    return charges.FINE if charges.have_finer_digits(raw, given) else MONEY


def _fits_money(type_: str) -> bool:
    if DECIMALS.fullmatch(type_):
        return int(type_.rstrip(")").split(",")[1]) <= PLACES
    return bool(INTEGERS.fullmatch(type_))


def exact_amount(raw: RawTable, column: str | None, type_: str) -> str:
    """Return SQL for an amount as this type; text and floats keep 22 decimals."""
    if column is None:
        return f"CAST(NULL AS {type_})"
    name, actual = raw.column(column)
    if actual == type_:
        return name
    if DECIMALS.fullmatch(actual) or INTEGERS.fullmatch(actual):
        return f"CAST({name} AS {type_})"
    return raw.number(column, type_)


def _columns(engine: DuckDB, select: str) -> dict[str, tuple[str, str]]:
    return {name.lower(): (name, type_) for name, type_ in engine.columns(f"({select})").items()}


def _in_utc(raw: RawTable, select: str, zone: str) -> str:
    """Return a SELECT of charges whose times without an offset are local times of `zone`."""
    focus = replace(raw, relation=f"({select})", columns=_columns(raw.engine, select))
    times = [name for name in charges.TIMES.values() if focus.has(name)]
    replaced = ", ".join(f"{focus.timestamp(name, zone)} AS {identifier(name)}" for name in times)
    return f"SELECT * REPLACE ({replaced}) FROM ({select})"
