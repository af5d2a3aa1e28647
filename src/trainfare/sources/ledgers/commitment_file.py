"""Commitments: what was bought for a term, such as reserved machines. CSV, JSON lines or Parquet.

`commitment_id, price, currency, started, ended` are needed. `commitment_id` is the CommitmentDiscountId on the bill. It is for bills
that do not spread commitments in EffectiveCost themselves; one that does needs no such file. `price` is spread evenly over
the days of the term. `quantity` is how many machines it covers at once; 1 where not given.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import COMMITMENTS
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.ledgers.checks import check_currency, check_money, check_term
from trainfare.sources.raw import Raw

NAME = "commitments"
KIND = "commitments"
READS = (
    "Trainfare commitments: CSV, JSON lines or Parquet with commitment_id, price, currency, started, ended, quantity"
)

NEEDED = ("commitment_id", "price", "currency", "started", "ended")
MOST_MACHINES = 10**6


def recognise(head: Head) -> bool:
    return {"commitment_id", "price"} <= own.named(head, ("commitment_id", "price"))


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.COMMITMENTS`; a bad row is a fault."""
    quantity = {"quantity": lambda raw, zone: f"coalesce({raw.number('quantity', 'INTEGER')}, 1)"}
    own.read(engine, path, into, "UTC", faults, COMMITMENTS, NEEDED, _check, quantity)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "commitment_id", "Every row is of one commitment: its CommitmentDiscountId on the bill.")
    raw.check_present(faults, "price", "Every row needs one.")
    check_money(raw, faults, "price")
    check_currency(raw, faults)
    check_term(raw, faults)
    do = "Write how many machines it covers at once, such as 8."
    raw.check_number(faults, "quantity", "INTEGER", "a whole number", MOST_MACHINES, do)
    raw.check_not_below(faults, "quantity", "INTEGER", 1, do)
    first = f"SELECT min(line) FROM {raw.relation} GROUP BY lower({raw.text('commitment_id')})"
    shown = f"{raw.shown('commitment_id')} || ' is there twice'"
    raw.check(faults, f"line NOT IN ({first})", shown, "Write one row per commitment.")
