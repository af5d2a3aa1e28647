"""The files of grains: sums of a book's shares that are made once, with their digests."""

import sqlalchemy as sa
from alembic import op

revision = "11"
down_revision = "10"


def upgrade() -> None:
    op.create_table(
        "grain_files",
        sa.Column("path", sa.Text, primary_key=True),
        sa.Column("book_id", sa.Integer, sa.ForeignKey("books.id"), nullable=False),
        sa.Column("part", sa.Text, nullable=False),
        sa.Column("steps", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("made_at", sa.Text, nullable=False),
        sqlite_strict=True,
    )
