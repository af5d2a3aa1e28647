"""Vendor invoices: free lines with the period they cover. CSV, JSON lines or Parquet.

`vendor, amount, currency, started, ended` are required. The amount is spread evenly over the days from `started` up
to, not including, `ended`. `category` is one of ours and decides whether the line is infrastructure; without it the
line is `other`. A line may name who it is for: a machine, a job, a project, a team ...; support is split by spend,
and any other line without a target is unallocated.
"""

from trainfare.sources.fields import Choice, Name
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import TARGETS, TERM, Currency, Target, check_term, money
from trainfare.sources.ledgers.tables import INVOICES
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile
from trainfare.tables import CATEGORIES

NAME = "invoices"
KIND = Kind.INVOICES
VERSION = "1"
DESCRIPTION = (
    "Trainfare vendor invoices: CSV, JSON lines or Parquet with invoice, vendor, description, amount, currency, "
    "started, ended ..."
)


def recognize(head: Head) -> bool:
    found = columns_among(head, ("invoice", "vendor", "amount", "started"))
    return "vendor" in found and len(found) > 1


FILE = TableFile(
    INVOICES,
    fields=(
        Name("vendor", "Every line names one vendor."),
        money("amount", required="Every line needs one.", may_be_negative=True),
        Currency(),
        Choice("category", CATEGORIES, default="other"),
        *TERM,
        Target("machine_id"),
        *TARGETS,
    ),
    checks=(check_term,),
    is_utc=True,
)
archive, rows = FILE.archive, FILE.rows
