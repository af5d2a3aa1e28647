"""Closing a month: by whoever may, once, and only with what is billed."""

from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.store import Closing, Store
from trainfare.tables import ESTIMATED


def close(store: Store, month: Month, by: str, note: str) -> Closing:
    """Close a month with its newest version; a month of which something is only estimated is refused."""
    book = store.catalog.latest(month)
    if book and book.is_withdrawn:
        do = "Close it when its bill has come."
        raise IncompleteError(f"book {month}", f"version {book.version} withdrew it: nothing is charged in it", do)
    if book and any(total.source == ESTIMATED and total.charges for total in book.totals):
        do = "Build it again when the bill has come; or set estimate = false, build, and close without these hours."
        raise IncompleteError(f"book {month}", "a part of it is estimated", do)
    return store.catalog.close(month, by, note)
