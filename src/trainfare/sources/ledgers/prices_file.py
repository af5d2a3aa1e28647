"""Trainfare's own price list: what an hour of a kind of machine costs, as CSV, JSON lines or Parquet.

`kind, price, currency, valid_from` are needed. `kind` is an instance type or a GPU model, as on the bill or in the machine
file. `price` is for one hour of one such machine. `valid_to` empty means until further notice; `region` empty means anywhere. `term` says
how it is bought: `on_demand` where it is empty, `spot`, `reserved` or a word of yours. `source` says where the price was read.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.raw import Raw
from trainfare.tables import MONEY, PRICES

NAME = "prices"
KIND = "prices"
READS = "Trainfare price list: CSV, JSON lines or Parquet with kind, region, term, price, currency, valid_from, valid_to, source"

NEEDED = ("kind", "price", "currency", "valid_from")
MOST = 10**9


def recognise(head: Head) -> bool:
    found = own.named(head, ("kind", "price", "valid_from", "job_id", "machine_id"))
    return "price" in found and bool({"kind", "valid_from"} & found) and not {"job_id", "machine_id"} & found


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `tables.PRICES`; a bad row is a fault."""
    instead = {
        "term": lambda raw, zone: f"coalesce(lower({raw.text('term')}), 'on_demand')",
        "currency": lambda raw, zone: f"upper({raw.text('currency')})",
    }
    own.read(engine, path, into, zone, faults, PRICES, NEEDED, _check, instead)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "kind", "Every price is of one kind of machine.")
    for name in ("price", "currency", "valid_from"):
        raw.check_present(faults, name, "Every row needs one.")
    raw.check_number(faults, "price", MONEY, "a number", MOST, "Write the price of an hour, such as 98.32.")
    raw.check_not_below(faults, "price", MONEY, 0, "A price is not below zero; a free machine costs 0.")
    bad = f"NOT regexp_full_match({raw.text('currency')}, '[A-Za-z]{{3}}')"
    raw.check(faults, bad, f"{raw.shown('currency')} || ' is not a currency'", "Write its three letters, such as USD.")
    for name in ("valid_from", "valid_to"):
        do = "Write it as 2026-10-01T00:00:00Z; leave valid_to empty while the price holds."
        raw.check_moment(faults, name, do, zone)
    own.check_span(raw, faults, ("valid_from", "valid_to"), zone, "Check valid_from and valid_to.")
