"""A bill without a reader of its own, through a mapping that a user writes: FOCUS column -> expression, as TOML.

```toml
where = "Type <> 'Subtotal'"

[columns]
BilledCost = "number(Amount)"
EffectiveCost = "number(Amount)"
ChargePeriodStart = "Day"
ChargePeriodEnd = "next_day(Day)"
BillingCurrency = "'USD'"

[total]
BilledCost = "\\"Invoice Total\\""
per = "Invoice"
```

`where` selects the rows that are charges; `optional` lists columns that a file may lack, which are null then. `[total]`
is what the file itself says that its charges add up to: in each row, or in the rows of its own `where`, which are no
charges. The archived copy stores its mapping, so a published book is explained by the mapping it was built with.
"""

import difflib
import glob
import hashlib
import tomllib
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems, TrainfareError
from trainfare.files.locations import Location
from trainfare.money import decimal_text
from trainfare.settings.messages import check_known, conversion_error
from trainfare.sources.bills import charges, expressions
from trainfare.sources.bills.expressions import Expression, ExpressionError
from trainfare.sources.bills.native import Conversion, Field, Holds, NativeBill, Part
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import DECIMALS, FLOATS, INTEGERS, RawTable, open_table
from trainfare.sources.rows import header_names, simplified
from trainfare.tables import MONEY, Table

METADATA = "trainfare_mapping"
COSTS = tuple(charges.AMOUNTS.values())
FOCUS_COLUMNS = tuple(dict.fromkeys(charges.USED))
REQUIRED_ADVICE = {
    "EffectiveCost": "If nothing is amortized, it is the same expression as BilledCost.",
    "BilledCost": "It is what the invoice charges for the row.",
    "ChargePeriodStart": "It is the start of the time that the row is for.",
    "ChargePeriodEnd": "It is exclusive; for a row per day write next_day(column).",
}


class Total(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says that its charges add up to."""

    BilledCost: str = ""
    EffectiveCost: str = ""
    ListCost: str = ""
    ContractedCost: str = ""
    where: str = ""
    per: str = ""

    @property
    def stated(self) -> dict[str, str]:
        return {name: text for name in COSTS if (text := getattr(self, name))}


class Definition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping as written."""

    columns: dict[str, str]
    description: str = ""
    where: str = ""
    optional: tuple[str, ...] = ()
    total: Total = Total()

    @property
    def expressions(self) -> dict[str, str]:
        """Every expression of the mapping, by where it is written."""
        found = {f"[columns] {name}": text for name, text in self.columns.items()}
        found |= {"where": self.where} if self.where else {}
        totals = {**self.total.stated, "where": self.total.where, "per": self.total.per}
        return found | {f"[total] {name}": text for name, text in totals.items() if text}

    @property
    def charged(self) -> str:
        """The condition for a row to be a charge."""
        without_totals = f"NOT coalesce(({self.total.where}\n), false)" if self.total.where else "true"
        return f"{without_totals} AND ({self.where or 'true'}\n)"


@dataclass(frozen=True)
class MappedBill:
    """Reads bills through a mapping; satisfies `Source`."""

    NAME: str
    DESCRIPTION: str
    definition: Definition
    where: str
    """The name of the mapping's file, for messages."""
    is_shipped: bool = False
    zone: str = "UTC"
    """The time zone of times without an offset."""
    VERSION: str = "1"
    KIND: Kind = field(default=Kind.BILL)
    lines_per_row: int = 1

    @cached_property
    def parsed(self) -> dict[str, Expression]:
        """Every expression, by where it is written. The mapping is known to be valid."""
        engine = DuckDB()
        try:
            return {at: expressions.parse(engine, text) for at, text in self.definition.expressions.items()}
        finally:
            engine.close()

    @property
    def native(self) -> NativeBill:
        """The reader that does what the mapping says."""
        names = dict.fromkeys(name for one in self.parsed.values() for name in one.columns)
        return NativeBill(
            self.NAME,
            self.DESCRIPTION,
            self.VERSION,
            fields=tuple(Field(name, Holds.ANYTHING, is_required=name in self._needed) for name in names),
            parts=(Part(self.definition.columns, self.definition.charged),),
            export_advice="",
            check=self._check,
            has_local_times=True,
            zone=self.zone,
            metadata={METADATA: msgspec.json.encode((self.definition, self.zone)).decode()},
        )

    @property
    def _needed(self) -> set[str]:
        optional = {simplified(name) for name in self.definition.optional}
        named = {name for one in self.parsed.values() for name in one.columns}
        return {name for name in named if simplified(name) not in optional}

    def recognize(self, head: Head) -> bool:
        """Return whether a file has all columns of a shipped mapping. A user's mapping is named in the settings."""
        if not self.is_shipped:
            return False
        names = head.parquet_columns if head.is_parquet else [] if head.is_json else header_names(head)
        return {simplified(name) for name in self._needed} <= {simplified(name) for name in names}

    def archive(self, engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
        expressions.define_functions(engine)

        def open_checked(engine: DuckDB, head: Head, into: str, problems: Problems) -> RawTable | None:
            raw = open_table(engine, head, into, problems)
            return raw if raw and self._fits(raw, problems) else None

        before = len(problems.found)
        reader = replace(replace(self, zone=options.zone).native, open=open_checked)
        lines = reader.archive(engine, head, target, options, problems)
        return lines if len(problems.found) == before else 0

    def _fits(self, raw: RawTable, problems: Problems) -> bool:
        """Report every expression that names a column which the file lacks, or cannot be computed from its types."""
        before = len(problems.found)
        written = {simplified(low): name for low, (name, _) in raw.columns.items()}
        for at, one in self.parsed.items():
            for name in one.columns:
                if simplified(name) in written or name not in self._needed:
                    continue
                near = difflib.get_close_matches(simplified(name), written, 1, 0.6)
                shown = ", ".join(list(written.values())[:12])
                do = f"Did you mean '{written[near[0]]}'?" if near else f"Its columns are {shown}."
                problems.add(f"{self.where} {at}", f"{raw.path} has no column '{name}'", do)
        if len(problems.found) == before:
            for at, one in self.parsed.items():
                self._check_type(raw, at, one, problems)
        return len(problems.found) == before

    def _check_type(self, raw: RawTable, at: str, one: Expression, problems: Problems) -> None:
        origin = f"({self.native.prepared(raw)})"
        try:
            (type_,) = raw.engine.columns(f"(SELECT ({one.text}\n) AS value FROM {origin})").values()
        except (duckdb.Error, TrainfareError) as error:
            what = str(error).partition(": ")[2].splitlines()[0].partition(". You might")[0].rstrip(".")
            do = "Text is a number only as number(column); use product(quantity, price) to multiply two of them."
            problems.add(f"{self.where} {at}", f"cannot be computed: {what[0].lower()}{what[1:]}", do)
            return
        if problem := _type_problem(at, type_, one):
            problems.add(f"{self.where} {at}", *problem)

    def _check(self, raw: RawTable, problems: Problems) -> None:
        """Check what the mapping reads as a number, and then the totals."""
        before = len(problems.found)
        numbers = dict.fromkeys(name for one in self.parsed.values() for name in one.numbers)
        columns = (Field(name).column_of(raw) for name in numbers)
        charges.check_amounts(raw, [column for column in columns if column], problems)
        if len(problems.found) == before and self.definition.total.stated:
            self._check_totals(raw, problems)

    def _check_totals(self, raw: RawTable, problems: Problems) -> None:
        """Report groups of rows whose charges do not add up to what the file states."""
        total = self.definition.total
        origin = f"({self.native.prepared(raw)})"
        group = f"CAST(({total.per}\n) AS VARCHAR)" if total.per else "''"
        for name, stated in total.stated.items():
            amount = f"TRY_CAST(CAST(({self.definition.columns.get(name, 'NULL')}\n) AS VARCHAR) AS {MONEY})"
            said = f"TRY_CAST(CAST(({stated}\n) AS VARCHAR) AS {MONEY})"
            charged = f"SELECT {group} AS per, sum({amount}) AS found FROM {origin} WHERE {self.definition.charged}"
            is_total = f"({total.where}\n)" if total.where else self.definition.charged
            aggregate = f"sum({said})" if total.where else f"CASE WHEN min({said}) = max({said}) THEN min({said}) END"
            states = f"SELECT {group} AS per, {aggregate} AS stated FROM {origin} WHERE {is_total}"
            rows = raw.engine.rows(
                f"SELECT coalesce(c.per, s.per), found, stated FROM ({charged} GROUP BY 1) c "
                f"FULL JOIN ({states} GROUP BY 1) s ON s.per = c.per WHERE found IS DISTINCT FROM stated ORDER BY 1"
            )
            for per, found, expected in rows:
                self._add_total(raw, name, (per, found, expected), problems)

    def _add_total(
        self, raw: RawTable, name: str, row: tuple[str, Decimal | None, Decimal | None], problems: Problems
    ) -> None:
        per, found, stated = row
        of = f" of '{per}'" if per else ""
        said = f"the file states {decimal_text(stated)}" if stated is not None else "the file states no single total"
        what = f"{name}{of} adds up to {decimal_text(found or Decimal(0))}, but {said}"
        do = f"Rows are missing, or {self.where} takes rows that are no charges; correct it, or export the file again."
        problems.add(str(raw.path), what, do)

    def rows(self, engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
        """Return a SELECT of the archived charges, by the mapping that the copy was made with."""
        expressions.define_functions(engine)
        return stored_in(engine, file.location).native.rows(engine, file, options, table)

    def focus_rows(self, engine: DuckDB, file: ArchivedFile) -> str:
        """Return a SELECT of the archived charges with FOCUS columns, and their lines."""
        expressions.define_functions(engine)
        return stored_in(engine, file.location).native.focus_rows(engine, file)

    def conversion(self, engine: DuckDB, file: ArchivedFile, line: int) -> Conversion | None:
        """Return how the charge at `line` was made."""
        expressions.define_functions(engine)
        return stored_in(engine, file.location).native.conversion(engine, file, line)


def _type_problem(at: str, type_: str, one: Expression) -> tuple[str, str] | None:
    """Return what is wrong with the type of an expression, and what to do."""
    section, _, name = at.rpartition(" ")
    is_number = DECIMALS.fullmatch(type_) or INTEGERS.fullmatch(type_) or type_ in ("VARCHAR", '"NULL"')
    if name in COSTS and type_ in FLOATS and not one.is_column:
        return f"is {type_}, which is not exact", "Use number(column), and product(quantity, price) to multiply."
    if name in COSTS and not is_number and type_ not in FLOATS:
        return f"is {type_}, not an amount", "Use number(column)."
    is_time = type_.startswith(("TIMESTAMP", "DATE", "VARCHAR"))
    if section and name in charges.TIMES.values() and not is_time:
        return f"is {type_}, not a time", "Use a column with a time, or strptime(column, '%m/%d/%Y')."
    if name == "where" and type_ != "BOOLEAN":
        return f"is {type_}, not a condition", "Compare something, as in \"Type <> 'Subtotal'\"."
    return None


def stored_in(engine: DuckDB, archive: Location) -> MappedBill:
    """Return the mapping that an archived copy was made with."""
    found = engine.rows(
        f"SELECT decode(value) FROM parquet_kv_metadata({quoted(glob.escape(str(archive)))}) "
        f"WHERE decode(key) = {quoted(METADATA)}"
    )
    definition, zone = msgspec.json.decode(found[0][0], type=tuple[Definition, str])
    return MappedBill("mapping", "", definition, "mapping", zone=zone)


def load(path: Path | None, name: str) -> MappedBill:
    """Return the user's mapping in a file, or the shipped one of this name; all problems are raised at once."""
    if path is None:
        return next(one for one in SHIPPED if name == one.NAME)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        shipped = ", ".join(one.NAME for one in SHIPPED)
        do = f"Name a file, relative to the folder of the settings, or one of {shipped}."
        raise TrainfareError(str(path), "there is no such mapping", do) from None
    except (OSError, UnicodeDecodeError):
        raise TrainfareError(str(path), "the mapping cannot be read", "Write it as UTF-8 TOML.") from None
    definition = _defined(text, path.name)
    digest = hashlib.sha256(msgspec.json.encode(definition, order="deterministic")).hexdigest()
    description = definition.description or f"the mapping {path.name}"
    return MappedBill("mapping", description, definition, path.name, VERSION=f"1-{digest}")


def _defined(text: str, where: str) -> Definition:
    """Return the mapping in a TOML text, checked as far as that is possible without a bill."""
    problems = Problems()
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        do = 'Fix the TOML; an expression is text in quotes, as in BilledCost = "number(Amount)".'
        raise TrainfareError(where, f"not valid TOML: {str(error)[0].lower()}{str(error)[1:]}", do) from None
    for name in raw:
        check_known(name, Definition.__struct_fields__, where, problems)
    if not isinstance(raw.get("columns"), dict):
        do = 'Write [columns] and below it one line per FOCUS column, as in BilledCost = "number(Amount)".'
        problems.add(where, "has no table [columns]", do)
    problems.raise_if_any()
    try:
        definition = msgspec.convert(raw, Definition)
    except msgspec.ValidationError as error:
        at = str(error).partition("$.")[2].rstrip("`").replace("[...]", "")
        raise TrainfareError(f"{where} {at}".strip(), conversion_error(str(error)), "Write text in quotes.") from None
    _check_columns(definition, where, problems)
    _check_expressions(definition, where, problems)
    problems.raise_if_any()
    return definition


def _check_columns(definition: Definition, where: str, problems: Problems) -> None:
    for name in definition.columns:
        if name not in FOCUS_COLUMNS:
            near = difflib.get_close_matches(name, FOCUS_COLUMNS, 1, 0.6)
            do = f"Did you mean {near[0]}?" if near else f"These are read: {', '.join(FOCUS_COLUMNS)}."
            problems.add(f"{where} [columns]", f"'{name}' is not a FOCUS column that is read", do)
    for name in charges.REQUIRED:
        if name not in definition.columns:
            problems.add(f"{where} [columns]", f"has no {name}", REQUIRED_ADVICE[name])
    for name in definition.total.stated:
        if name not in definition.columns:
            problems.add(f"{where} [total]", f"states {name}, which is not mapped", f"Add {name} to [columns].")


def _check_expressions(definition: Definition, where: str, problems: Problems) -> None:
    engine = DuckDB()
    try:
        for at, text in definition.expressions.items():
            try:
                expressions.parse(engine, text)
            except ExpressionError as error:
                problems.add(f"{where} {at}", error.what, error.do)
    finally:
        engine.close()


def _shipped() -> tuple[MappedBill, ...]:
    folder = resources.files("trainfare.sources.bills").joinpath("mappings")
    found: list[MappedBill] = []
    for file in sorted((one for one in folder.iterdir() if one.name.endswith(".toml")), key=lambda one: one.name):
        raw: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        definition = msgspec.convert(raw, Definition)
        digest = hashlib.sha256(msgspec.json.encode(definition, order="deterministic")).hexdigest()
        name = file.name.removesuffix(".toml")
        found.append(MappedBill(name, definition.description, definition, file.name, True, VERSION=f"1-{digest}"))
    return tuple(found)


SHIPPED = _shipped()
ANY = MappedBill("mapping", "any bill, through a mapping of yours", Definition({}), "mapping")
"""Reads the archived copies of bills with a user's mapping."""
