"""Vendor invoices: free lines with the time they are for. CSV, JSON lines or Parquet.

`vendor, amount, currency, started, ended` are needed. The amount is spread evenly over the days from `started` up to, not including,
`ended`. `category` is one of ours and says whether the line is infrastructure; without it the line is `other`. A line may name who it is
for: a machine, a job, a project, a team ...; support is shared by spend, and any other line that names nobody is unallocated.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import INVOICES
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.ledgers.checks import check_currency, check_money, check_names, check_term, word_of
from trainfare.sources.raw import Raw
from trainfare.tables import CATEGORIES

NAME = "invoices"
KIND = "invoices"
READS = "Trainfare vendor invoices: CSV, JSON lines or Parquet with invoice, vendor, description, amount, currency, started, ended ..."

NEEDED = ("vendor", "amount", "currency", "started", "ended")


def recognise(head: Head) -> bool:
    found = own.named(head, ("invoice", "vendor", "amount", "started"))
    return "vendor" in found and len(found) > 1


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.INVOICES`; a bad row is a fault."""
    instead = {"category": word_of("category", "other")}
    own.read(engine, path, into, "UTC", faults, INVOICES, NEEDED, _check, instead)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "vendor", "Every line is of one vendor.")
    raw.check_present(faults, "amount", "Every line needs one.")
    check_money(raw, faults, "amount", below_zero=True)
    check_currency(raw, faults)
    if raw.has("category"):
        own.check_one_of(raw, faults, "category", CATEGORIES, f"Use {', '.join(CATEGORIES)}.")
    check_term(raw, faults)
    check_names(raw, faults)
