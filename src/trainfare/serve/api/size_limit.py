"""The size of a response, estimated before it is computed: steps times groups."""

from collections.abc import Sequence
from math import prod

from trainfare.errors import TrainfareError
from trainfare.query import keys
from trainfare.query.keys import CHARGE_KEYS, MACHINE_KEYS, TIME_KEYS
from trainfare.query.open_books import OpenBooks
from trainfare.query.window import Window
from trainfare.store import Book

MAX_ROWS = 100_000
VALUES_PER_CHARGE_KEY = 10
"""An estimate: charges have few categories, rules, sources and accounts."""


def require_size(opened: OpenBooks, books: Sequence[Book], by: Sequence[str], window: Window, steps: int = 1) -> None:
    """Reject a question whose response would have too many rows, with what to ask instead."""
    groups = min(_groups(opened, by, window, steps), sum(_stored_rows(book) for book in books) or MAX_ROWS)
    if steps * groups <= MAX_ROWS:
        return
    what = f"up to {groups:,} groups" if steps == 1 else f"{steps:,} steps times up to {groups:,} groups"
    do = f"A response has at most {MAX_ROWS:,} rows. Use fewer keys, "
    do += "longer steps (7d or 1M) or a shorter window." if steps > 1 else "a filter or a shorter window."
    if "job" in by or "attempt" in by:
        do += " Every job, page by page: /api/v1/jobs; all of them as a file: /export/jobs.csv."
    raise TrainfareError("aggregate", what, do)


def _groups(opened: OpenBooks, by: Sequence[str], window: Window, steps: int) -> int:
    """Return how many groups these keys can have at most: the values of jobs, of machines, of days and of charges."""
    of_machines = [key for key in by if key in MACHINE_KEYS]
    of_charges = [key for key in by if key in CHARGE_KEYS]
    of_time = [key for key in by if key in TIME_KEYS]
    of_attempts = [key for key in by if key not in (*of_machines, *of_charges, *of_time)]
    days = -(-window.length // steps) if "day" in of_time else max(1, window.length // 28) if of_time else 1
    return prod(
        (
            _distinct(opened, "attempts a", [_attempt_sql(key) for key in of_attempts]),
            _distinct(
                opened, "machines m", ["m.resource_id" if key == "machine" else f"m.{key}" for key in of_machines]
            ),
            days,
            VALUES_PER_CHARGE_KEY ** len(of_charges),
        )
    )


def _attempt_sql(key: str) -> str:
    own = {"job": "a.job_id", "attempt": "a.job_id || '#' || a.attempt", "payer": "1", "state": "a.state"}
    return own.get(key) or keys.hours_sql(key) or "1"


def _distinct(opened: OpenBooks, table: str, columns: Sequence[str]) -> int:
    if not columns:
        return 1
    (found,) = opened.engine.row(f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(columns)} FROM {table})")
    return int(found) + 1  # and rows without a value


def _stored_rows(book: Book) -> int:
    return sum(book.rows.get(name, 0) for name in ("shares", "book_placements"))
