"""Owned hardware: what each machine cost, how long it lasts, and what it costs to run. CSV, JSON lines or Parquet.

`machine_id, price, currency, in_service, life_months` are required. From the day `in_service` on, `price` less
`salvage` is depreciated over `life_months`: `straight`, the same amount every day, or `declining`, each month
`factor / life_months` of the remaining value, switching to equal parts as soon as these are larger. Both methods end
exactly at `salvage`. Space, cooling, maintenance and admin are amounts per calendar month and run until `retired`.
Power is bought at the `tariff` of that name, in a tariff file: measured power from power readings where there are
any, `rated_kw` otherwise, times `pue`. Days are UTC days.

A machine in this file counts as a machine even if no job and no machine file names it: what no job holds of it is
idle.
"""

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.sources.fields import EVERY_ROW, Choice, Name, Number
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import Currency, day, money
from trainfare.sources.ledgers.tables import HARDWARE
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile
from trainfare.tables import MACHINES, MONEY, Table

NAME = "hardware"
KIND = Kind.HARDWARE
VERSION = "1"
DESCRIPTION = (
    "Trainfare hardware file: CSV, JSON lines or Parquet with machine_id, price, currency, in_service, life_months ..."
)

METHODS = ("straight", "declining")
MONTHLY_COSTS = ("space", "cooling", "maintenance", "admin")
MOST_MONTHS = 1201
FACTOR, KILOWATTS = "DECIMAL(9,4)", "DECIMAL(18,6)"
_WRITE_KW = "Write kW, such as 10.2."


def recognize(head: Head) -> bool:
    found = columns_among(head, ("machine_id", "price", "life_months", "in_service"))
    return "machine_id" in found and len(found) > 2


def rows(engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
    """Return the ledger's rows, or the machines that it lists."""
    if table is MACHINES:
        given = ("machine_id", "resource_id", "line")
        columns = (c.name if c.name in given else f"CAST(NULL AS {c.type}) AS {c.name}" for c in MACHINES.columns)
        return f"SELECT {', '.join(columns)} FROM {parquet(file.location)}"
    return FILE.rows(engine, file, options, table)


def _check_salvage(raw: RawTable, zone: str, problems: Problems) -> None:
    price, salvage = raw.number("price", MONEY), raw.number("salvage", MONEY)
    message = f"'salvage (' || {raw.text('salvage')} || ') is more than price (' || {raw.text('price')} || ')'"
    raw.check(problems, f"{salvage} > {price}", message, "Check price and salvage.")


def _check_tariff(raw: RawTable, zone: str, problems: Problems) -> None:
    bad = f"{raw.text('rated_kw')} IS NOT NULL AND {raw.text('tariff')} IS NULL"
    do = "Name the tariff and add a tariff file, or leave rated_kw empty."
    raw.check(problems, bad, "'rated_kw is set without a tariff'", do)


FILE = TableFile(
    HARDWARE,
    fields=(
        Name("machine_id", "Every machine needs a name."),
        money("price", required=EVERY_ROW),
        money("salvage", default="0"),
        *(money(name) for name in MONTHLY_COSTS),
        Currency(),
        day("in_service", required=EVERY_ROW),
        day("retired"),
        Number(
            "life_months",
            "INTEGER",
            MOST_MONTHS,
            "Write whole months, such as 48.",
            noun="a whole number",
            least=1,
            do_least="The life of a machine is at least one month.",
            required=EVERY_ROW,
        ),
        Choice("method", METHODS, default="straight"),
        Number(
            "factor",
            FACTOR,
            1000,
            "Write a number such as 2 or 1.5.",
            least=1,
            do_least="With a factor below 1 it would outlast its life.",
            default="2",
        ),
        Number(
            "pue",
            FACTOR,
            1000,
            "Write a number such as 1.3.",
            least=1,
            do_least="A room draws at least what its machines draw.",
            default="1",
        ),
        Number("rated_kw", KILOWATTS, 10**6, _WRITE_KW, least=0),
    ),
    checks=(_check_salvage, _check_tariff),
    computed={"resource_id": lambda raw, zone: f"coalesce({raw.text('resource_id')}, {raw.text('machine_id')})"},
    is_utc=True,
)
archive = FILE.archive
