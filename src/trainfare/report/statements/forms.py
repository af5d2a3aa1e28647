"""The forms a statement can have; what one needs is imported when it is asked for."""

import importlib

from trainfare.engine.duckdb import parquet
from trainfare.report.opened import Opened
from trainfare.report.statements.statement import Closed, Statement
from trainfare.store.records import Book, Closing

FORMS = {
    "pdf": "application/pdf",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html; charset=utf-8",
}
"""Endings, and what browsers call them."""


def render(statement: Statement, form: str) -> bytes:
    made: bytes = importlib.import_module(f"trainfare.report.statements.{form}").render(statement)
    return made


def state_of(opened: Opened, book: Book, closing: Closing | None) -> Closed:
    """What a statement says of the book it is of. A later version than the closed one there is not."""
    (settings,) = opened.engine.row(f"SELECT settings FROM {parquet(opened.books[0].files['settings'])}")
    told = "not closed: it may still change"
    if closing and closing.version == book.version:
        told = f"closed on {closing.closed_at:%Y-%m-%d} by {closing.closed_by}"
    return Closed(book.version, book.built_at.date(), told, settings)
