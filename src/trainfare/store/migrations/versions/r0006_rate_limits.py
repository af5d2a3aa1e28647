"""Rate limits, which hold for all processes of the service together."""

import sqlalchemy as sa
from alembic import op

revision = "6"
down_revision = "5"


def upgrade() -> None:
    op.create_table(
        "rate_limits",
        sa.Column("client", sa.Text, primary_key=True),
        sa.Column("unused_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sqlite_strict=True,
    )
