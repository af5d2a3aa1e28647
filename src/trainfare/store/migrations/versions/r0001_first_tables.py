"""Deliveries, books and closings."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    identity = op.create_table("identity", sa.Column("catalog_id", sa.Text, primary_key=True), sqlite_strict=True)
    op.bulk_insert(identity, [{"catalog_id": secrets.token_hex(16)}])
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Integer, primary_key=True),
        *(_text(name) for name in ("source", "path", "format", "content_sha256", "settings_sha256", "archive")),
        sa.Column("lines", COUNT, nullable=False),
        _text("delivered_at"),
        sa.UniqueConstraint("source", "content_sha256", "settings_sha256", name="deliveries_once"),
        sqlite_strict=True,
    )
    op.create_table(
        "books",
        sa.Column("id", sa.Integer, primary_key=True),
        _text("month"),
        sa.Column("version", sa.Integer, nullable=False),
        *(_text(name) for name in ("built_at", "engine", "inputs_sha256")),
        sa.Column("complete_through", sa.Text),
        sa.UniqueConstraint("month", "version", name="books_once"),
        sa.CheckConstraint("version >= 1", name="books_version"),
        sqlite_strict=True,
    )
    _create_parts_of_books()
    op.create_table(
        "closings",
        sa.Column("month", sa.Text, primary_key=True),
        sa.Column("book_id", sa.Integer, sa.ForeignKey("books.id"), nullable=False),
        *(_text(name) for name in ("closed_at", "closed_by", "note")),
        sqlite_strict=True,
    )


def _create_parts_of_books() -> None:
    op.create_table(
        "book_deliveries",
        _book(),
        sa.Column("delivery_id", sa.Integer, sa.ForeignKey("deliveries.id"), primary_key=True),
        sqlite_strict=True,
    )
    op.create_table(
        "book_files",
        _book(),
        sa.Column("table_name", sa.Text, primary_key=True),
        _text("path"),
        sa.Column("rows", COUNT, nullable=False),
        sqlite_strict=True,
    )
    op.create_table(
        "book_totals",
        _book(),
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("source", "currency", "basis")),
        *(_text(name) for name in ("charges", "shares")),
        sqlite_strict=True,
    )


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False)


def _book() -> "sa.Column[int]":
    return sa.Column("book_id", sa.Integer, sa.ForeignKey("books.id"), primary_key=True)
