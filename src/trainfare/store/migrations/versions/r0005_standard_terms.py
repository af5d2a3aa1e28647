"""Standard terms for tables and columns, and the format of the stored books."""

import json
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "5"
down_revision = "4"

CATALOG_COLUMNS = (
    ("users", "sees", "visibility"),
    ("tokens", "sees", "visibility"),
    ("builds", "heard_at", "heartbeat_at"),
    ("builds", "given_up_at", "abandoned_at"),
)


def upgrade() -> None:
    for table, old, new in CATALOG_COLUMNS:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    op.rename_table("sightings", "finding_sightings")
    op.add_column("identity", sa.Column("book_format", sa.Integer, nullable=False, server_default="1"))
    # A catalog that names no file yet has nothing to migrate.
    op.execute(
        "UPDATE identity SET book_format = 2 "
        "WHERE NOT EXISTS (SELECT 1 FROM deliveries) AND NOT EXISTS (SELECT 1 FROM book_files)"
    )


# The former names in stored books and archives. `book_migration.py` replaces them after the schema is upgraded.

ACCOUNT_VERSION = "8"
"""The account version of the books in format 1."""

TABLES = {
    "ways": "share_kinds",
    "used": "attempt_usage",
    "egress_parts": "egress_costs",
    "failures": "failure_modes",
    "failure_rows": "failure_mode_evidence",
}
"""The former names of tables, and their replacements."""

FORMATS = {"labour": "labor", "licences": "licenses"}
"""The former names of file formats, and their replacements."""

JOB_LOGS = ("sacct", "sacct-json", "jobs")

COLUMNS = {
    ("shares", "way"): "share_kind",
    ("ways", "way"): "share_kind",
    ("failures", "whole"): "total",
    ("failures", "repairs"): "fixes",
    ("work_seconds", "whole"): "total",
    ("licences", "licence"): "license",
    **{(name, "slurm_cluster"): "log_cluster" for name in JOB_LOGS},
    **{(name, "slurm_run"): "log_run" for name in JOB_LOGS},
    **{(name, "slurm_resized"): "resized" for name in JOB_LOGS},
}
"""By table or format under its former name, and column."""

RULE_COLUMNS = ("rule", "name")
"""The columns with names of rules."""

_RULES = {"labour": "labor", "licence": "license", "licence per core": "license per core"}
_SPELLINGS = {"labour": "labor", "licence": "license"}

VALUES: dict[str, dict[str, str]] = {
    "rule": _RULES,
    "name": _RULES,
    "category": _SPELLINGS,
    "origin": _SPELLINGS,
    "state": {"cancelled": "canceled"},
    "limit_name": {"labour": "labor", "new_licence": "new_license"},
    "reason": {
        "tagged, and no job of theirs ran then": "tagged, and no job with that tag ran then",
        "nothing was spent that it could be shared by": "nothing was spent that it could be split by",
        "commitment purchase: its cost comes in through what it covers": (
            "commitment purchase: its cost is amortized over the usage it covers"
        ),
        "a service that is not training": "a service not used for training",
    },
    **json.loads(Path(__file__).with_name("r0005_texts.json").read_text(encoding="utf-8")),
}
"""By column, in every table, archive and condition of a rule, the former values and their replacements."""

_UNMATCHED = (
    ("\\blicence cost that names no", "license cost that names no"),
    ("\\blabour cost that names no", "labor cost that names no"),
    (" cost that names no machine, job or tag", " with no matching machine, job or mapped tag"),
    ("\\bnobody held anything\\b", "no job held anything"),
)

PATTERNS: dict[str, tuple[tuple[str, str], ...]] = {
    "reason": _UNMATCHED,
    "evidence": _UNMATCHED,
    "repairs": (("# would give ([0-9.,]+ [A-Z]+) payers", "# would allocate \\1"),),
}
"""By column, regular expressions for former texts, and their replacements."""
