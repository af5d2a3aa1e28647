"""Commitments: what was bought for a term, such as reserved machines. CSV, JSON lines or Parquet.

`commitment_id, price, currency, started, ended` are required. `commitment_id` is the CommitmentDiscountId on the
bill. This file is for bills that do not amortize commitments in EffectiveCost themselves; other bills need none.
`price` is spread evenly over the days of the term. `quantity` is the number of machines it covers at once; 1 if
empty.
"""

from trainfare.errors import Problems
from trainfare.sources.fields import EVERY_ROW, Name, Number
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import TERM, Currency, check_term, money
from trainfare.sources.ledgers.tables import COMMITMENTS
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile

NAME = "commitments"
KIND = Kind.COMMITMENTS
VERSION = "1"
DESCRIPTION = (
    "Trainfare commitments: CSV, JSON lines or Parquet with commitment_id, price, currency, started, ended, quantity"
)

MOST_MACHINES = 10**6


def recognize(head: Head) -> bool:
    return {"commitment_id", "price"} <= columns_among(head, ("commitment_id", "price"))


def _check_unique(raw: RawTable, zone: str, problems: Problems) -> None:
    first = f"SELECT min(line) FROM {raw.relation} GROUP BY lower({raw.text('commitment_id')})"
    message = f"{raw.described('commitment_id')} || ' occurs more than once'"
    raw.check(problems, f"line NOT IN ({first})", message, "Write one row per commitment.")


FILE = TableFile(
    COMMITMENTS,
    fields=(
        Name("commitment_id", "Every row describes one commitment: its CommitmentDiscountId on the bill."),
        money("price", required=EVERY_ROW),
        Currency(),
        *TERM,
        Number(
            "quantity",
            "INTEGER",
            MOST_MACHINES,
            "Write the number of machines it covers at once, such as 8.",
            noun="a whole number",
            least=1,
            default="1",
        ),
    ),
    checks=(check_term, _check_unique),
    is_utc=True,
)
archive, rows = FILE.archive, FILE.rows
