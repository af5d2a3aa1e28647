"""Licenses: what they cost, the unit they are sold by, and their term. CSV, JSON lines or Parquet.

`license, per, price, currency, started, ended` are required. `per` is seat, core, gpu, hour or flat: `quantity`
times `price` is the cost of a calendar month, of a year from `started` on, or of the entire term, as `every` says;
per hour, of each hour of the term. It is spread evenly over the days. A row may name who it is for: a machine, a job,
a project, a team ...; a row without a target is split across all jobs, per core by CPU time, otherwise by GPU time.
"""

from trainfare.sources.fields import EVERY_ROW, Choice, Name, Number
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import TARGETS, TERM, Currency, Target, check_term, money
from trainfare.sources.ledgers.tables import LICENSES
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile

NAME = "licenses"
KIND = Kind.LICENSES
VERSION = "1"
DESCRIPTION = (
    "Trainfare licenses: CSV, JSON lines or Parquet with license, per, quantity, price, every, currency, "
    "started, ended ..."
)

PER = ("seat", "core", "gpu", "hour", "flat")
EVERY = ("month", "year", "term")


def recognize(head: Head) -> bool:
    found = columns_among(head, ("license", "per", "price", "every"))
    return "license" in found and len(found) > 1


FILE = TableFile(
    LICENSES,
    fields=(
        Name("license", "Every row describes one license."),
        Choice("per", PER, required=EVERY_ROW),
        Choice("every", EVERY, default="month"),
        money("price", required=EVERY_ROW),
        Currency(),
        Number("quantity", "DECIMAL(18,6)", 10**9, "Write how many, such as 25.", least=0, default="1"),
        *TERM,
        Target("machine_id"),
        *TARGETS,
    ),
    checks=(check_term,),
    is_utc=True,
)
archive, rows = FILE.archive, FILE.rows
