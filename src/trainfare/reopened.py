"""A published book opened again: its account run from the same deliveries and settings, or kept in a file, down to bill lines."""

import hashlib
import secrets
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from trainfare import inputs, pipeline
from trainfare.attribute import lineage
from trainfare.attribute.lineage import Account, attached
from trainfare.engine.duckdb import DuckDB
from trainfare.report import focus
from trainfare.report.explain import Explanation, explanation, require_job, stored
from trainfare.report.line import LinePayers, payers
from trainfare.report.opened import open_books
from trainfare.sources.raw import parquet_rows
from trainfare.store import Book, Store

__all__ = (
    "Account",
    "account_name",
    "attached",
    "explain",
    "explain_kept",
    "focus_rows",
    "keep_account",
    "payers_of_kept_line",
)


def explain(
    store: Store, book_: Book, engine: DuckDB, job_id: str, basis: str, currency: str | None, usual: str | None = None
) -> Explanation:
    """Open one job's money in a published book: the same account run again from the same deliveries and settings."""
    opened = open_books(engine, [store.files(book_)])
    chosen = opened.currency(currency, usual, basis)
    require_job(engine, job_id, str(book_.month))
    booked = stored(engine, job_id, basis, chosen)
    pipeline.reopen(store, book_, engine)
    lineage.open_job(engine, job_id)
    return explanation(engine, job_id, basis, chosen, booked)


def keep_account(store: Store, book_: Book, path: Path) -> None:
    """Write the account of a published book to a file, whole or not at all: it explains jobs and lines without being run again."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")
    try:
        with pipeline.fresh_engine() as engine:
            pipeline.reopen(store, book_, engine)
            lineage.keep(engine, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def account_name(book_: Book) -> str:
    """What tells the kept account of a book from any other: the version, what it was made from, and how it is kept."""
    made_from = (book_.inputs_sha256, inputs.ACCOUNT_VERSION, *lineage.KEPT.values())
    return f"{book_.month}-v{book_.version}-{hashlib.sha256('|'.join(made_from).encode()).hexdigest()[:16]}"


def explain_kept(
    engine: DuckDB, account: Account, job_id: str, attempts: Sequence[int], basis: str, currency: str, booked: Decimal
) -> Explanation:
    """What `explain` says of these attempts, from a kept account; `booked` is what the book says."""
    lineage.open_kept_job(engine, account, job_id, attempts)
    return explanation(engine, job_id, basis, currency, booked)


def payers_of_kept_line(engine: DuckDB, account: Account, delivery: int, line: int) -> LinePayers | None:
    """Everyone who pays a part of a bill line, from a kept account; None if the month has no such line."""
    lineage.open_kept_line(engine, account, delivery, line)
    return payers(engine, delivery, line)


def focus_rows(store: Store, book_: Book, engine: DuckDB) -> str:
    """A SELECT of a published book as FOCUS rows: every bill line split among its payers."""
    delivered, taken_back = pipeline.reopen(store, book_, engine)
    lineage.open_everything(engine)
    engine.table("line_rates", focus.line_rates(book_.month))
    selects = []
    for file in (*delivered, *taken_back):
        if file.kind == "bill":
            origin, sign = parquet_rows(file.archive), -1 if file in taken_back else 1
            selects.append(focus.select(origin, engine.columns(f"({origin})"), file.number, sign))
    for (number,) in engine.rows("SELECT DISTINCT delivery FROM allocations WHERE origin <> 'bill' ORDER BY delivery"):
        origin = focus.of_charges(number)
        selects.append(focus.select(origin, engine.columns(f"({origin})"), number))
    return " UNION ALL BY NAME ".join(selects)
