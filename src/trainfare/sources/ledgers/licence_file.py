"""Licences: what they cost, by what they are counted, and their term. CSV, JSON lines or Parquet.

`licence, per, price, currency, started, ended` are needed. `per` is seat, core, gpu, hour or flat: `quantity` times `price` is
the cost of a calendar month, of a year from `started` on, or of the whole term, as `every` says; per hour, of each hour of the
term. It is spread evenly over the days. A row may name who it is for: a machine, a job, a project, a team ...; one that does
not is shared among all jobs, per core by CPU time, else by GPU time.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.ledger_tables import LICENCES
from trainfare.places import Place
from trainfare.sources import own
from trainfare.sources.head import Head
from trainfare.sources.ledgers.checks import check_currency, check_money, check_names, check_term, word_of
from trainfare.sources.raw import Raw

NAME = "licences"
KIND = "licences"
READS = "Trainfare licences: CSV, JSON lines or Parquet with licence, per, quantity, price, every, currency, started, ended ..."

NEEDED = ("licence", "per", "price", "currency", "started", "ended")
PER = ("seat", "core", "gpu", "hour", "flat")
EVERY = ("month", "year", "term")


def recognise(head: Head) -> bool:
    found = own.named(head, ("licence", "per", "price", "every"))
    return "licence" in found and len(found) > 1


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `ledger_tables.LICENCES`; a bad row is a fault."""
    instead = {
        "per": lambda raw, zone: f"lower({raw.text('per')})",
        "quantity": lambda raw, zone: f"coalesce({raw.number('quantity', 'DECIMAL(18,6)')}, 1)",
        "every": word_of("every", "month"),
    }
    own.read(engine, path, into, "UTC", faults, LICENCES, NEEDED, _check, instead)


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "licence", "Every row is of one licence.")
    for name in ("per", "price"):
        raw.check_present(faults, name, "Every row needs one.")
    own.check_one_of(raw, faults, "per", PER, f"Use {', '.join(PER)}.")
    if raw.has("every"):
        own.check_one_of(raw, faults, "every", EVERY, f"Use {', '.join(EVERY)}.")
    check_money(raw, faults, "price")
    check_currency(raw, faults)
    raw.check_number(faults, "quantity", "DECIMAL(18,6)", "a number", 10**9, "Write how many, such as 25.")
    raw.check_not_below(faults, "quantity", "DECIMAL(18,6)", 0, "Write how many, such as 25.")
    check_term(raw, faults)
    check_names(raw, faults)
