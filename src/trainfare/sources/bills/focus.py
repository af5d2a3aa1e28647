"""FOCUS 1.0 to 1.4 cost and usage -> charges.

Columns may be in any order; unknown columns stay in the archived copy. What bills do in practice:
- times are written as `2024-09-18T22:00:00Z`, with a space and no zone (UTC is meant), or typed;
- null is written as nothing or, in text files, as the word NULL; an empty text in Parquet is null too;
- numbers may be DOUBLE in Parquet: the shortest decimal that gives the same DOUBLE is what was meant;
- some exports have more digits than 10^-12; these are rounded to it, counted in `finer`, and become a finding;
- Tags are JSON text, a Parquet map or list of structs with a key and a value, or (old Azure) JSON without its braces;
  of equal keys in a list the first counts;
- ProviderName was replaced by ServiceProviderName in 1.3 and removed in 1.4;
- values may be in lower case, and tags in text a list of keys and values: both are archived as the standard has them;
- what single providers write differently is in `dialects.py`;
- examples and hand-written files omit columns that the standard requires: BilledCost, EffectiveCost and the
  charge period are required here, all others are null if missing.
"""

import re

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location, copy
from trainfare.sources.bills import dialects
from trainfare.sources.bills.charges import AMOUNTS, REQUIRED, TIMES, USED, charge_columns, check, check_wide
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import (
    LINE,
    RawTable,
    columns_with_blanks,
    describe_table,
    open_table,
    parquet_file,
    parquet_rows,
    require_columns,
    translate_errors,
)
from trainfare.sources.rows import header_names, simplified
from trainfare.tables import CHARGES, MONEY, Table

NAME = "focus"
KIND = Kind.BILL
VERSION = "1"
DESCRIPTION = "FOCUS 1.0 to 1.4 bill: CSV, JSON (also .gz) or Parquet"


def recognize(head: Head) -> bool:
    if head.is_json:
        return bool(re.search(r'"(BilledCost|EffectiveCost)"\s*:', head.text))
    names = head.parquet_columns if head.is_parquet else header_names(head)
    return bool({"billedcost", "effectivecost"} & {simplified(name) for name in names})


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    before = len(problems.found)
    raw = open_table(engine, head, "delivered", problems)
    if raw is None:
        return 0
    with translate_errors(head, problems):
        if head.is_parquet:
            check_wide(raw, AMOUNTS.values(), problems)
            raw.read_all(USED)
        do = "Export the bill as FOCUS 1.0 or later, with all of its columns."
        if require_columns(raw, REQUIRED, USED, problems, do):
            check(raw, options.currency, problems)
    if len(problems.found) > before:
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    restated = dialects.standard_words(raw)
    if head.is_parquet and not head.is_gzip and not restated:
        copy(head.path, target)
    else:
        engine.write_parquet(_archived(raw, restated), target, in_order=True)
    lines: int = engine.row(f"SELECT count(*) FROM {raw.relation}")[0]
    engine.run(f"DROP {'VIEW' if head.is_parquet else 'TABLE'} {raw.relation}")
    return lines


def _archived(raw: RawTable, restated: dict[str, str]) -> str:
    """Return a SELECT of the rows as they are archived; `restated` columns as the standard has them.

    Times and amounts in text are archived typed if that loses nothing; otherwise every step would parse them again.
    """
    plain = [name for name in AMOUNTS.values() if raw.is_text(name) and raw.is_plain_decimal(name)]
    typed = {name: raw.timestamp(name) for name in TIMES.values() if raw.is_text(name)}
    typed |= {name: raw.number(name, MONEY) for name in plain}
    typed |= restated
    if tags := dialects.listed_tags(raw):
        typed["Tags"] = tags
    replaced = ", ".join(f"{sql} AS {raw.column(name)[0]}" for name, sql in typed.items())
    return f"SELECT * EXCLUDE (line) {f'REPLACE ({replaced})' if replaced else ''} FROM {raw.relation}"


def rows(engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
    """Return a SELECT of the archived charges."""
    if table is not CHARGES:
        return None
    blank = columns_with_blanks(engine, file.location)
    engine.view("archived", parquet_rows(file.location, blank))
    raw = describe_table(engine, "archived", file.location)
    engine.run("DROP VIEW archived")
    columns = charge_columns(raw, options.currency, may_start_blank=any(name.lower() == "tags" for name in blank))
    columns |= {
        "delivery": f"CAST({file.delivery} AS INTEGER)",
        "line": "line" if blank else LINE,
        "source": quoted(file.source),
    }
    select = ", ".join(f'{columns[name]} AS "{name}"' for name in CHARGES.names)
    # Directly from the file if possible: only then does the engine skip parts without times in the requested range.
    origin = f"({parquet_rows(file.location, blank)})" if blank else parquet_file(file.location)
    return f"SELECT {select} FROM {origin}"
