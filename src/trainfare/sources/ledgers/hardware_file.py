"""Owned hardware: what each machine cost, how long it lasts, and what it costs to run. CSV, JSON lines or Parquet.

`machine_id, price, currency, in_service, life_months` are needed. From the day `in_service` on, `price` less `salvage` is
written off over `life_months`: `straight`, the same every day, or `declining`, each month `factor / life_months` of what it
is still worth, and in equal parts as soon as these are more. Either way it ends at `salvage`, to the last digit. Space, cooling,
maintenance and admin are for a calendar month and run until `retired`. Power is bought at the `tariff` of that name, in a tariff
file: measured power, from power readings, where there is any, `rated_kw` elsewhere, times `pue`. Days are UTC days.

A machine listed here is a machine, also if no job and no machine file names it: what nobody holds of it is idle.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import HARDWARE
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.ledgers.checks import check_currency, check_days, check_money, money_of, word_of
from trainfare.sources.raw import Raw
from trainfare.tables import MONEY

NAME = "hardware"
KIND = "hardware"
READS = (
    "Trainfare hardware file: CSV, JSON lines or Parquet with machine_id, price, currency, in_service, life_months ..."
)

NEEDED = ("machine_id", "price", "currency", "in_service", "life_months")
METHODS = ("straight", "declining")
RUNNING = ("space", "cooling", "maintenance", "admin")
MOST_MONTHS = 1201


def recognise(head: Head) -> bool:
    found = own.named(head, ("machine_id", "price", "life_months", "in_service"))
    return "machine_id" in found and len(found) > 2


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.HARDWARE`; a bad row is a fault."""
    instead = {
        "resource_id": lambda raw, zone: f"coalesce({raw.text('resource_id')}, {raw.text('machine_id')})",
        "salvage": money_of("salvage", "0"),
        "method": word_of("method", "straight"),
        "factor": lambda raw, zone: f"coalesce({raw.number('factor', 'DECIMAL(9,4)')}, 2)",
        "pue": lambda raw, zone: f"coalesce({raw.number('pue', 'DECIMAL(9,4)')}, 1)",
    }
    own.read(engine, path, into, "UTC", faults, HARDWARE, NEEDED, _check, instead)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "machine_id", "Every machine needs a name.")
    for name in ("price", "in_service", "life_months"):
        raw.check_present(faults, name, "Every row needs one.")
    check_currency(raw, faults)
    check_money(raw, faults, "price", "salvage", *RUNNING)
    check_days(raw, faults, "in_service", "retired")
    raw.check_number(faults, "life_months", "INTEGER", "a whole number", MOST_MONTHS, "Write whole months, such as 48.")
    raw.check_not_below(faults, "life_months", "INTEGER", 1, "A machine lasts at least one month.")
    if raw.has("method"):
        own.check_one_of(raw, faults, "method", METHODS, f"Use {' or '.join(METHODS)}.")
    for name, do in (("factor", "Write a number such as 2 or 1.5."), ("pue", "Write a number such as 1.3.")):
        raw.check_number(faults, name, "DECIMAL(9,4)", "a number", 1000, do)
    raw.check_not_below(faults, "factor", "DECIMAL(9,4)", 1, "Below 1 it would last longer than its life.")
    raw.check_not_below(faults, "pue", "DECIMAL(9,4)", 1, "A room draws at least what its machines draw.")
    raw.check_number(faults, "rated_kw", "DECIMAL(18,6)", "a number", 10**6, "Write kW, such as 10.2.")
    raw.check_not_below(faults, "rated_kw", "DECIMAL(18,6)", 0, "Write kW, such as 10.2.")
    price, salvage = raw.number("price", MONEY), raw.number("salvage", MONEY)
    shown = (
        f"'it is worth more at the end (' || {raw.text('salvage')} || ') than it cost (' || {raw.text('price')} || ')'"
    )
    raw.check(faults, f"{salvage} > {price}", shown, "Check price and salvage.")
    power = f"{raw.text('rated_kw')} IS NOT NULL AND {raw.text('tariff')} IS NULL"
    do = "Name the tariff, and add a tariff file; or leave rated_kw empty."
    raw.check(faults, power, "'rated_kw is given and no tariff'", do)
