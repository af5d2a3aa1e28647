"""Withdraw a month that has no charges any more and never had a bill of its own."""

from collections.abc import Mapping, Sequence

from trainfare.books import tables
from trainfare.books.adjust import has_only_adjustments
from trainfare.books.context import BuildContext
from trainfare.books.inputs import Inputs
from trainfare.books.tables import BookDraft
from trainfare.engine.sql import parquet
from trainfare.files.locations import Location
from trainfare.period import Month
from trainfare.store import Book, NewBook
from trainfare.tables import ESTIMATES, PAST_ESTIMATES


def candidates(current: Mapping[Month, Book | None], charged: Sequence[Month]) -> list[Month]:
    """The months without charges whose books had only adjustments and estimates.

    A month that had a bill keeps its book: its files were removed, and that alone withdraws nothing.
    """
    return [
        month
        for month, book in current.items()
        if book and month not in charged and not book.is_withdrawn and has_only_adjustments(book)
    ]


def withdraw(context: BuildContext, inputs: Inputs, draft: BookDraft, fingerprint: str) -> Book | None:
    """Publish a version without charges: the current tables, emptied of everything that is money or time.

    Return the current version if it is withdrawn already, and None if there is none or it rests on a bill.
    """
    current, engine = draft.current, context.reader
    if current is None or current.is_withdrawn:
        return current
    if not has_only_adjustments(current):
        return None
    previous = draft.store.files(current).files
    files = {name: draft.path(name) for name in {**previous, "past_estimates": None}}
    for name, path in files.items():
        engine.write_parquet(_kept_rows(context, previous, name), path)
    book = NewBook(
        engine=engine.name,
        inputs_sha256=fingerprint,
        complete_through=None,
        files={name: draft.store.lake.relative(path) for name, path in files.items()},
        rows={name: engine.row(f"SELECT count(*) FROM {parquet(path)}")[0] for name, path in files.items()},
        totals=(),
        deliveries=inputs.delivery_numbers,
    )
    return draft.store.publish(draft.month, current.version, book)


def _kept_rows(context: BuildContext, previous: Mapping[str, Location], name: str) -> str:
    """Return a SELECT of what a withdrawn version keeps of a table.

    Its estimates are past ones from now on: a bill that arrives later is still compared with them.
    """
    if name == "past_estimates":
        return " UNION ALL ".join(
            tables.previous_rows(context.engine, table, previous.get(table.name))
            for table in (ESTIMATES, PAST_ESTIMATES)
        )
    rows = "" if name in tables.KEPT_AFTER_WITHDRAWAL else " WHERE false"
    return f"SELECT * FROM {parquet(previous[name])}{rows}"
