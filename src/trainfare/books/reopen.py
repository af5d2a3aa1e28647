"""Reopen a published book: run its account again from the same deliveries and settings, down to bill lines.

The result can be stored in a file, so that many questions are answered by one run.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from trainfare.allocate import account, lineage, merged_accounts
from trainfare.allocate.lineage import Account, attached
from trainfare.books import adjust, near, restate, tables
from trainfare.books.adjust import ClosedMonth
from trainfare.books.context import BuildContext
from trainfare.books.inputs import ACCOUNT_VERSION, load_charges
from trainfare.books.month import normalize_month
from trainfare.books.near import Near
from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet
from trainfare.errors import IncompleteError
from trainfare.normalize.amortization import ledgers
from trainfare.query.bill_line import LinePayers, payers
from trainfare.query.explain import Explanation, explanation, require_job, stored
from trainfare.query.open_books import open_books
from trainfare.settings.config import restore_settings
from trainfare.sources import deliveries
from trainfare.sources.bills.native import Conversion
from trainfare.sources.deliveries import ADJUSTING, DeliveredFile
from trainfare.store import Book, Store

__all__ = (
    "Account",
    "ConvertedLine",
    "ExplainedJob",
    "account_name",
    "attached",
    "converted_lines",
    "explain",
    "explain_stored",
    "open_unallocated",
    "payers_of_stored_line",
    "reopen",
    "store_account",
)


def reopen(
    store: Store, book: Book, engine: DuckDB, only: Near | None = None
) -> tuple[list[DeliveredFile], tuple[DeliveredFile, ...]]:
    """Run the account of a published book again; return its deliveries, and those whose charges it reverses.

    With `only`, run it for what is near one job.
    """
    (settings,) = engine.row(f"SELECT settings FROM {parquet(store.files(book).files['settings'])}")
    context = BuildContext(engine, restore_settings(settings), adjust.settings_of(engine, store, book)[1])
    rows = store.catalog.deliveries(book.deliveries)
    delivered = [deliveries.from_catalog(row, store.archive(row)) for row in rows]
    deliveries.prepare_recordings(engine, delivered)
    if only:
        delivered = only.files(delivered)
    engine.drop("attempts", "machines", *tables.READABLE_NAMES)  # an open book in this engine has the same names
    charges = load_charges(context, delivered)
    normalize_month(context, charges, book.month, charges.relevant(engine, delivered, book.month))
    account.run(engine, context.config, book.month, keep_weights=True)
    adjusted = adjust.find_again(context, store, book)
    if adjusted and "closed_months" not in book.files:
        what = "an older Trainfare booked its adjustments of closed months, which cannot be traced to lines any more"
        raise IncompleteError(f"book {book.month}", what, "If the month is open, build it again: trainfare build")
    if adjusted:
        _merge_adjustments(context, store, book, adjusted)
    restated = [file for one in adjusted for file in one.files]
    reversed_files = tuple({file.number: file for one in adjusted for file in one.booked_files}.values())
    _make_delivered_files(engine, [*delivered, *restated, *reversed_files])
    delivered = [*{file.number: file for file in (*delivered, *restated)}.values()]
    return delivered, reversed_files


def _merge_adjustments(context: BuildContext, store: Store, book: Book, adjusted: Sequence[ClosedMonth]) -> None:
    """Add to the account in the engine those of the months that it adjusts, as rebuilt and, reversed, as booked."""
    engine = context.reader
    merged_accounts.start(engine)
    number = 0
    for one in adjusted:
        config, as_of = adjust.settings_of(engine, store, one.closing)
        booked_as_of = adjust.settings_of(engine, store, one.adjusting[-1])[1] if one.adjusting else as_of
        for sign, files, until in ((1, one.files, context.as_of), (-1, one.booked_files, booked_as_of)):
            if restate.rebuild(replace(context, as_of=until), store, one, files, config, keep_weights=True):
                number += 1
                merged_accounts.keep(engine, number, f"{ADJUSTING}{one.month}", book.month, sign)
    merged_accounts.merge(engine)


def _make_delivered_files(engine: DuckDB, delivered: Sequence[DeliveredFile]) -> None:
    """Make `delivered_files`: how to find the line of a charge in the file of a user."""
    columns = "delivery INTEGER, path VARCHAR, header_lines INTEGER, lines_per_row BIGINT"
    rows = [
        (file.number, str(file.path), file.header_lines, ledgers.lines_per_row(file))
        for file in {file.number: file for file in delivered}.values()
    ]
    engine.values("delivered_files", columns, [*rows, (0, "(estimated)", 0, 1)])


def explain(
    store: Store, book: Book, engine: DuckDB, job_id: str, basis: str, currency: str | None, usual: str | None = None
) -> Explanation:
    """Explain the cost of one job in a published book by running its account again."""
    opened = open_books(engine, [store.files(book)])
    chosen = opened.currency(currency, usual, basis)
    job_id = require_job(engine, job_id, str(book.month))
    booked = stored(engine, job_id, basis, chosen)
    if only := near.find(engine, store.files(book), job_id):
        reopen(store, book, engine, only)
        lineage.open_job(engine, job_id)
        found = explanation(engine, job_id, basis, chosen, booked)
        if found.explained == booked:
            return found
    reopen(store, book, engine)
    lineage.open_job(engine, job_id)
    return explanation(engine, job_id, basis, chosen, booked)


@dataclass(frozen=True)
class ConvertedLine:
    """A line of a bill in a provider's own format: where it is, and how it became a charge."""

    file: str
    file_line: int
    conversion: Conversion


def converted_lines(store: Store, engine: DuckDB, lines: Sequence[tuple[int, int]]) -> list[ConvertedLine]:
    """Return how these lines (delivery, line) became charges; those of FOCUS bills need no conversion."""
    numbers = sorted({delivery for delivery, _ in lines if delivery > 0})
    rows = store.catalog.deliveries(tuple(numbers))
    files = {row.id: deliveries.from_catalog(row, store.archive(row)) for row in rows}
    found = []
    for delivery, line in dict.fromkeys(lines):
        file = files.get(delivery)
        if file and file.native and (made := file.native.conversion(engine, file.archived, line)):
            found.append(ConvertedLine(str(file.path), line // file.native.lines_per_row + file.header_lines, made))
    return found


def store_account(store: Store, book: Book, path: Path) -> None:
    """Write the account of a published book to a file, completely or not at all. Questions then need no further run."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")
    try:
        with embedded() as engine:
            reopen(store, book, engine)
            lineage.store(engine, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def account_name(book: Book) -> str:
    """A name for the stored account of a book, from its version, its inputs and the storage format."""
    parts = (book.inputs_sha256, ACCOUNT_VERSION, *lineage.STORED_TABLES.values())
    return f"{book.month}-v{book.version}-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class ExplainedJob:
    """The attempts of a job to explain, and which of their shares; None: all of them."""

    job_id: str
    attempts: Sequence[int]
    shares: Sequence[tuple[object, ...]] | None = None


def explain_stored(
    engine: DuckDB, account: Account, job: ExplainedJob, basis: str, currency: str, booked: Decimal
) -> Explanation:
    """Explain these attempts of a job from a stored account; `booked` is the cost of what is explained in the book."""
    lineage.open_stored_job(engine, account, job.job_id, job.attempts)
    if job.shares is not None:
        lineage.keep_shares_of_job(engine, job.shares)
    return explanation(engine, job.job_id, basis, currency, booked)


def open_unallocated(engine: DuckDB, account: Account, shares: Sequence[tuple[object, ...]] | None) -> None:
    """Make `unallocated_lines` from a stored account; of these shares only, if given."""
    lineage.open_stored_unallocated(engine, account)
    if shares is not None:
        lineage.keep_unallocated_shares(engine, shares)


def payers_of_stored_line(engine: DuckDB, account: Account, delivery: int, line: int) -> LinePayers | None:
    """Everyone who pays a part of a bill line, from a stored account; None if the month has no such line."""
    lineage.open_stored_line(engine, account, delivery, line)
    return payers(engine, delivery, line)
