"""Users, tokens, sessions, and the audit log, whose rows the database itself does not let anybody change."""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"

REFUSED = "rows of the audit log are never changed"


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.Text, primary_key=True),
        _text("role"),
        *(sa.Column(name, sa.Text) for name in ("sees", "password")),
        _text("created_at"),
        sa.Column("disabled_at", sa.Text),
        sqlite_strict=True,
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        _text("name"),
        sa.Column("token_sha256", sa.Text, nullable=False, unique=True),
        _text("role"),
        sa.Column("sees", sa.Text),
        *(_text(name) for name in ("scopes", "created_at", "created_by")),
        *(sa.Column(name, sa.Text) for name in ("expires_at", "revoked_at", "last_used_at")),
        sqlite_strict=True,
    )
    op.create_table(
        "sessions",
        sa.Column("session_sha256", sa.Text, primary_key=True),
        sa.Column("user_name", sa.Text, sa.ForeignKey("users.name"), nullable=False),
        *(_text(name) for name in ("created_at", "expires_at")),
        sa.Column("ended_at", sa.Text),
        sqlite_strict=True,
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        *(_text(name) for name in ("at", "who", "what", "details", "previous_sha256")),
        sa.Column("sha256", sa.Text, nullable=False, unique=True),
        sqlite_strict=True,
    )
    _refuse_changes()


def _refuse_changes() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_{change.lower()} BEFORE {change} ON audit BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSED}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()"
    )


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False)
