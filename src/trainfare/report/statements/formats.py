"""The file formats of statements; the libraries of a format are imported when it is first used."""

import importlib

from trainfare.engine.duckdb import parquet
from trainfare.query.open_books import OpenBooks
from trainfare.report.statements.statement import BookState, Statement
from trainfare.store.records import Book, Closing

FORMATS = {
    "pdf": "application/pdf",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html; charset=utf-8",
}
"""File extensions and media types."""


def render(statement: Statement, format_: str) -> bytes:
    content: bytes = importlib.import_module(f"trainfare.report.statements.{format_}").render(statement)
    return content


def book_state(opened: OpenBooks, book: Book, closing: Closing | None) -> BookState:
    """Return the state of the book that a statement shows. A closed month has no version later than the closed one."""
    (settings,) = opened.engine.row(f"SELECT settings FROM {parquet(opened.books[0].files['settings'])}")
    status = "not closed: it may still change"
    if closing and closing.version == book.version:
        status = f"closed on {closing.closed_at:%Y-%m-%d} by {closing.closed_by}"
    return BookState(book.version, book.built_at.date(), status, settings)
