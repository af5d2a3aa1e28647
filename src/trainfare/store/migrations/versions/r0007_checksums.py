"""Digests of files, checksums of rows, and an audit log whose rows cannot be replaced either.

The digests of existing files are computed once, when the workspace is opened next; see `store/checksums.py`.
"""

import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = "6"

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REFUSED = "rows of the audit log are never changed"


def upgrade() -> None:
    for table, prefix in (("book_files", ""), ("deliveries", "archive_")):
        op.add_column(table, sa.Column(f"{prefix}size", COUNT))
        op.add_column(table, sa.Column(f"{prefix}sha256", sa.Text))
    op.add_column("closings", sa.Column("audit_rows", COUNT))
    op.add_column("closings", sa.Column("audit_head", sa.Text))
    for table in ("books", "deliveries", "closings"):
        op.add_column(table, sa.Column("row_sha256", sa.Text))
    op.create_table(
        "table_checksums",
        sa.Column("table_name", sa.Text, primary_key=True),
        sa.Column("rows", COUNT, nullable=False),
        sa.Column("head_sha256", sa.Text, nullable=False),
        sqlite_strict=True,
    )
    if op.get_bind().dialect.name == "sqlite":
        # INSERT OR REPLACE removes the row it replaces without a DELETE trigger. PostgreSQL has no such statement, and
        # its ON CONFLICT DO UPDATE counts as an UPDATE.
        op.execute(
            "CREATE TRIGGER audit_replace BEFORE INSERT ON audit "
            "WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id OR sha256 = NEW.sha256) "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
        )
