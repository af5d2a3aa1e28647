"""Our price list: what an hour of a kind of machine costs. CSV, JSON lines or Parquet.

`kind, price, currency, valid_from` are required. `kind` is an instance type or a GPU model, as on the bill or in the
machine file. `price` is for one hour of one such machine. `valid_to` empty means until further notice; `region` empty
means anywhere. `term` is how it is bought: `on_demand` if empty, `spot`, `reserved` or a term of your own. `source`
says where the price was found.
"""

from trainfare.sources.fields import EVERY_ROW, Name, Number, OrderedTimes, Time
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.fields import Currency
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile
from trainfare.tables import MONEY, PRICES

NAME = "prices"
KIND = Kind.PRICES
VERSION = "1"
DESCRIPTION = (
    "Trainfare price list: CSV, JSON lines or Parquet with kind, region, term, price, currency, valid_from, valid_to, "
    "source"
)

MOST = 10**9
_WRITE_TIME = "Write it as 2026-10-01T00:00:00Z; leave valid_to empty while the price is valid."


def recognize(head: Head) -> bool:
    found = columns_among(head, ("kind", "price", "valid_from", "job_id", "machine_id"))
    return "price" in found and bool({"kind", "valid_from"} & found) and not {"job_id", "machine_id"} & found


FILE = TableFile(
    PRICES,
    fields=(
        Name("kind", "Every price is for one kind of machine."),
        Number(
            "price",
            MONEY,
            MOST,
            "Write the price of an hour, such as 98.32.",
            least=0,
            do_least="A price must not be negative; a free machine costs 0.",
            required=EVERY_ROW,
        ),
        Currency(required=EVERY_ROW, any_case=True),
        Time("valid_from", _WRITE_TIME, required=EVERY_ROW),
        Time("valid_to", _WRITE_TIME),
    ),
    checks=(OrderedTimes("valid_from", "valid_to", "Check valid_from and valid_to."),),
    computed={"term": lambda raw, zone: f"coalesce(lower({raw.text('term')}), 'on_demand')"},
)
archive, rows = FILE.archive, FILE.rows
