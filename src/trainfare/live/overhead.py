"""What a book added to the direct cost of machines: support, tax, storage, licenses and the like.

The live account has machines only. How much else there is, is known from the last book, and is shown next to it.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext

from trainfare.engine.duckdb import DuckDB
from trainfare.period import Month
from trainfare.query.open_books import open_books
from trainfare.store import Store

MACHINE_RULE = "machine"


@dataclass(frozen=True)
class Overhead:
    """For one currency of one book: the direct cost of machines, and everything else that was allocated with it."""

    month: Month
    currency: str
    direct: Decimal
    other: Decimal

    @property
    def factor(self) -> Decimal | None:
        """What is added to each unit of direct cost, to four decimals; None if there was no direct cost."""
        if self.direct <= 0:
            return None
        with localcontext() as exact:
            exact.prec = 60
            return (self.other / self.direct).quantize(Decimal("0.0001"))


def of_last_book(engine: DuckDB, store: Store) -> list[Overhead]:
    """Return the overhead of the newest book with charges, by currency; empty if there is none."""
    for month in sorted(store.catalog.months(), reverse=True):
        book = store.catalog.latest(month)
        if book and not book.is_withdrawn:
            open_books(engine, [store.files(book)])
            rows = engine.rows(
                f"SELECT currency, coalesce(sum(effective) FILTER (rule = '{MACHINE_RULE}'), 0), "
                f"coalesce(sum(effective) FILTER (rule <> '{MACHINE_RULE}'), 0) FROM shares "
                "WHERE payer_kind IN ('attempt', 'label', 'idle') GROUP BY currency ORDER BY currency"
            )
            return [Overhead(month, currency, direct, other) for currency, direct, other in rows]
    return []
