"""What collectors observed: their cursors, the open segments and the sealed ones."""

import sqlalchemy as sa
from alembic import op

revision = "9"
down_revision = "8"

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "collectors",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("system", sa.Text, nullable=False),
        sa.Column("cursor", sa.Text),
        sa.Column("complete_through", sa.Text),
        sa.Column("last_seq", COUNT, nullable=False),
        sqlite_strict=True,
    )
    op.create_table(
        "observations",
        sa.Column("collector", sa.Text, sa.ForeignKey("collectors.name"), primary_key=True),
        sa.Column("seq", COUNT, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("system", "cluster", "kind", "uid", "seen_at")),
        sa.Column("valid_at", sa.Text),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("op", "resource_version", "fields")),
        sqlite_strict=True,
    )
    op.create_table(
        "observed_objects",
        sa.Column("collector", sa.Text, sa.ForeignKey("collectors.name"), primary_key=True),
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("cluster", "kind", "uid")),
        sa.Column("is_over", sa.Integer, nullable=False),
        sa.Column("state_sha256", sa.Text, nullable=False),
        sa.Column("seen_at", sa.Text, nullable=False),
        sqlite_strict=True,
    )
    op.create_table(
        "recordings",
        sa.Column("delivery_id", sa.Integer, sa.ForeignKey("deliveries.id"), primary_key=True, autoincrement=False),
        sa.Column("collector", sa.Text, sa.ForeignKey("collectors.name"), nullable=False),
        sa.Column("first_seq", COUNT, nullable=False),
        sa.Column("last_seq", COUNT, nullable=False),
        sa.Column("first_seen_at", sa.Text, nullable=False),
        sa.Column("last_seen_at", sa.Text, nullable=False),
        sa.Column("replaced_by", sa.Integer, sa.ForeignKey("deliveries.id")),
        sa.CheckConstraint("last_seq >= first_seq", name="recordings_range"),
        sqlite_strict=True,
    )
