"""Users, tokens, sessions and the audit log, on both databases."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from trainfare.errors import TrainfareError
from trainfare.store.catalog import Catalog

PASSWORD = "correct horse battery"


def entries(catalog: Catalog) -> list[tuple[str, str]]:
    return [(entry.who, entry.what) for entry in catalog.audit.entries()]


def test_every_change_is_a_row_chained_to_the_previous_one(catalog: Catalog) -> None:
    access = catalog.access
    ana = access.add_user("ana", "team", ["team:nlp"], PASSWORD, "root")
    access.create_token("ci", "viewer", None, ["read"], None, "root")
    access.revoke(1, "root")
    access.end_session(access.start_session(ana, 1))
    access.set_password("ana", "another long password", "root")
    access.disable("ana", "root")
    assert entries(catalog) == [
        ("root", "user added"),
        ("root", "token created"),
        ("root", "token revoked"),
        ("ana", "signed in"),
        ("ana", "signed out"),
        ("root", "password changed"),
        ("root", "user disabled"),
    ]
    verified = catalog.audit.verify()
    assert (verified.rows, verified.broken) == (7, None)


@pytest.mark.parametrize("change", ["UPDATE audit SET who = 'nobody' WHERE id = 2", "DELETE FROM audit WHERE id = 2"])
def test_the_database_rejects_changes_to_audit_rows(catalog: Catalog, change: str) -> None:
    for name in ("one", "two", "three"):
        catalog.access.add_user(name, "viewer", None, None, "root")
    with pytest.raises((DBAPIError, TrainfareError)), catalog._database.write() as connection:
        connection.execute(text(change))
    assert catalog.audit.verify().rows == 3


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET who = 'nobody' WHERE id = 2",
        "UPDATE audit SET details = '{}' WHERE id = 2",
        "DELETE FROM audit WHERE id = 1",
        "DELETE FROM audit WHERE id = 2",
    ],
)
def test_a_change_that_bypasses_the_database_is_detected(catalog: Catalog, change: str) -> None:
    for name in ("one", "two", "three"):
        catalog.access.add_user(name, "viewer", None, None, "root")
    is_sqlite = catalog._database.engine.dialect.name == "sqlite"
    off = (
        ["DROP TRIGGER audit_update", "DROP TRIGGER audit_delete"]
        if is_sqlite
        else ["DROP TRIGGER audit_changes ON audit"]
    )
    with catalog._database.write() as connection:
        for statement in (*off, change):
            connection.execute(text(statement))
    assert catalog.audit.verify().broken is not None


def test_a_token_is_valid_until_it_expires_or_is_revoked(catalog: Catalog) -> None:
    access, now = catalog.access, datetime.now(UTC)
    lasting = access.create_token("lasting", "team", ["team:nlp"], ["read"], now + timedelta(days=1), "root")
    expired = access.create_token("expired", "viewer", None, ["read"], now - timedelta(seconds=1), "root")
    found = access.find_token(lasting)
    assert found
    assert (found.name, found.visibility, found.scopes) == ("lasting", ("team:nlp",), ("read",))
    assert access.tokens()[0].last_used_at is not None
    assert access.find_token(expired) is None
    assert access.find_token(lasting + "x") is None
    access.revoke(found.id, "root")
    assert access.find_token(lasting) is None
    with pytest.raises(TrainfareError, match="already revoked"):
        access.revoke(found.id, "root")


def test_a_password_authenticates_its_user_until_disabled(catalog: Catalog) -> None:
    access = catalog.access
    ana = access.add_user("ana", "viewer", None, PASSWORD, "root")
    access.add_user("proxied", "viewer", None, None, "root")
    assert access.authenticate("ana", PASSWORD) == ana
    for name, password in (("ana", "wrong"), ("nobody", PASSWORD), ("proxied", ""), ("proxied", PASSWORD)):
        assert access.authenticate(name, password) is None
    session = access.start_session(ana, 1)
    assert access.session_user(session) == ana
    assert access.session_user("other") is None
    access.disable("ana", "root")
    assert access.session_user(session) is None
    assert access.authenticate("ana", PASSWORD) is None
    with pytest.raises(TrainfareError, match="too short"):
        access.add_user("short", "viewer", None, "short", "root")


def test_no_secret_is_in_the_catalog(workspace: object, catalog: Catalog, tmp_path: Path) -> None:
    catalog.access.add_user("ana", "viewer", None, PASSWORD, "root")
    token = catalog.access.create_token("ci", "viewer", None, ["read"], None, "root")
    with catalog._database.read() as connection:
        stored = str(
            [connection.execute(text(f"SELECT * FROM {table}")).all() for table in ("users", "tokens", "audit")]
        )
    assert "ana" in stored
    assert token not in stored
    assert PASSWORD not in stored
