"""Add what other published books have for the days of a month: shares, and which of its hours they bill.

The cost of a month is its own book. Its unit cost counts every share for its days, in whichever book: a late bill, a
billing month in another time zone, the adjustment of a closed month.
"""

from collections.abc import Sequence

from trainfare.engine.duckdb import DuckDB, step_text
from trainfare.query.stored import stored_table
from trainfare.store import book_views
from trainfare.store.records import BookFiles
from trainfare.tables import BASES, BILLED_ELSEWHERE

PACKAGE = "trainfare.query.grains"
STEPS = (
    *("all_book_attempts", "all_book_machines", "all_stored_payers", "all_share_kinds", "all_stored_shares"),
    "all_stored_placements",
)
"""The steps that add rows of other books, in order; each is named after the view that it completes."""
DAY = 86400


def add_to(connection: DuckDB, book: BookFiles) -> None:
    """Complete the views of a book's tables, from which its grains are made; `is_foreign` marks kinds of shares."""
    first, end = (int(moment.timestamp()) for moment in (book.month.start, book.month.end))
    bounds = f"SELECT {first} AS month_start, {end} AS month_end, {first // DAY} AS first_day, {end // DAY} AS end_day"
    connection.view("book_month", bounds)
    connection.view("share_kinds", f"SELECT *, false AS is_foreign FROM {stored_table(book, 'share_kinds')}")
    if not book.others:
        return
    days = f"day >= {first // DAY} AND day < {end // DAY}"
    connection.table("foreign_shares", " UNION ALL ".join(_shares(other, days) for other in book.others))
    for name, file in (("attempts", "book_attempts"), ("machines", "book_machines")):
        newest = (f"SELECT {age} AS age, * FROM {stored_table(one, file)}" for age, one in enumerate(book.others))
        connection.view(f"foreign_{name}", " UNION ALL BY NAME ".join(newest))
    connection.table("foreign_hours", " UNION ALL ".join(_hours(other, first, end) for other in book.others))
    # Each of these reads the view of the same name, so it is a table that then takes its place.
    for name in (
        "book_attempts",
        "book_machines",
        "stored_payers",
        "share_kinds",
        "stored_shares",
        "stored_placements",
    ):
        connection.table(f"all_{name}", step_text(PACKAGE, f"all_{name}", _fragments(name)))
        connection.view(name, f"SELECT * FROM all_{name}")


def _fragments(name: str) -> dict[str, str]:
    return {"bases": ", ".join(f"s.{basis}" for basis in BASES)} if name == "stored_shares" else {}


def _shares(other: BookFiles, days: str) -> str:
    stored = f"(SELECT * FROM {stored_table(other, 'shares')} WHERE {days})"
    named = [stored_table(other, name) for name in ("share_kinds", "payers", "book_attempts", "book_machines")]
    return book_views.shares(stored, *named)


def _hours(other: BookFiles, first: int, end: int) -> str:
    if BILLED_ELSEWHERE.name not in other.files:
        return f"SELECT {_no_hours()} WHERE false"
    return f"SELECT * FROM {stored_table(other, BILLED_ELSEWHERE.name)} WHERE ends > {first} AND starts < {end}"


def _no_hours() -> str:
    columns: Sequence[str] = [f"CAST(NULL AS {column.type}) AS {column.name}" for column in BILLED_ELSEWHERE.columns]
    return ", ".join(columns)
