"""Jobs are named by their cluster and their id there, and people can override their labels.

An id is `lab/4711` instead of `4711`, or of `4711@lab`.

`book_migration.py` renames the jobs in stored books, so that a job has the same id in all months. The clusters are
those that the archived job logs name, which the account of a book is run again from.
"""

from collections.abc import Iterable

import sqlalchemy as sa
from alembic import op

revision = "10"
down_revision = "9"

FORMATS = ("sacct", "sacct-json")
"""The logs that named clusters."""
TABLES = ("book_attempts", "book_work", "checkpointing", "book_quality")
"""The tables of a book with ids of jobs."""


def upgrade() -> None:
    op.create_table(
        "label_overrides",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job_id", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("value", sa.Text),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("set_at", "set_by", "note")),
        sqlite_strict=True,
    )
    # A catalog that names no file yet has nothing to migrate.
    op.execute(
        "UPDATE identity SET book_format = 4 WHERE book_format = 3 "
        "AND NOT EXISTS (SELECT 1 FROM deliveries) AND NOT EXISTS (SELECT 1 FROM book_files)"
    )


def new_ids(logs: Iterable[str]) -> str:
    """Return a SELECT of the jobs whose ids change: `job_id`, as stored, and `new_id`.

    `logs` are FROM items of archived job logs. An id of several clusters was written with its cluster.
    """
    named = " UNION ALL ".join(f"SELECT job_id, log_cluster FROM {log}" for log in logs)
    return f"""
WITH clusters AS (
  SELECT DISTINCT job_id AS native_id, log_cluster AS cluster FROM ({named}) WHERE log_cluster IS NOT NULL
),
former AS (
  SELECT native_id || '@' || cluster AS job_id, native_id, cluster FROM clusters
  UNION ALL
  SELECT native_id, native_id, min(cluster) FROM clusters GROUP BY native_id HAVING count(*) = 1
)
SELECT job_id, replace(cluster, '/', ':') || '/' || native_id AS new_id FROM former"""


def renamed(table: str, ids: str) -> str:
    """Return a SELECT of a table of a book with the new ids of jobs."""
    return f"SELECT t.* REPLACE (coalesce(n.new_id, t.job_id) AS job_id) FROM {table} t LEFT JOIN {ids} n ON n.job_id = t.job_id"
