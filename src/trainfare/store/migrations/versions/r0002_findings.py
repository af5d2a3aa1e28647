"""Which book showed which finding, and which findings were accepted."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    op.create_table(
        "sightings",
        sa.Column("book_id", sa.Integer, sa.ForeignKey("books.id"), primary_key=True),
        sa.Column("code", sa.Text, primary_key=True),
        sa.Column("seen_at", sa.Text, nullable=False),
        sqlite_strict=True,
    )
    op.create_table(
        "acceptances",
        sa.Column("id", sa.Integer, primary_key=True),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("code", "reason", "until", "accepted_at", "accepted_by")
        ),
        sqlite_strict=True,
    )
