"""Builds that run on lakes in object stores."""

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    op.create_table(
        "builds",
        sa.Column("build_id", sa.Text, primary_key=True),
        sa.Column("heard_at", sa.Text, nullable=False),
        sa.Column("given_up_at", sa.Text),
        sqlite_strict=True,
    )
