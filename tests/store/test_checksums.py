"""The audit log and the rows of the catalog show what was removed or replaced, on every database."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from trainfare.errors import DamagedError, Problems, TrainfareError
from trainfare.store import Store
from trainfare.store.catalog import Catalog

from .building import NOVEMBER, OCTOBER, publish

REPLACEMENTS = {
    "sqlite": [
        "INSERT OR REPLACE INTO audit SELECT id, at, 'nobody', what, details, previous_sha256, sha256 FROM audit",
        "REPLACE INTO audit SELECT id, at, 'nobody', what, details, previous_sha256, 'x' || sha256 FROM audit",
        "INSERT OR REPLACE INTO audit SELECT id + 9, at, 'nobody', what, details, previous_sha256, sha256 FROM audit",
        "INSERT INTO audit SELECT id, at, who, what, details, previous_sha256, sha256 FROM audit WHERE true "
        "ON CONFLICT (id) DO UPDATE SET who = 'nobody'",
    ],
    "postgresql": [
        "INSERT INTO audit SELECT * FROM audit ON CONFLICT (id) DO UPDATE SET who = 'nobody'",
        "INSERT INTO audit SELECT * FROM audit ON CONFLICT (sha256) DO UPDATE SET who = 'nobody'",
        "TRUNCATE audit",
    ],
}


def add_users(catalog: Catalog, *names: str) -> None:
    for name in names:
        catalog.access.add_user(name, "viewer", None, None, "root")


def without_triggers(catalog: Catalog, statement: str) -> None:
    """Change the catalog as somebody could who owns the database."""
    triggers = {
        "sqlite": ["DROP TRIGGER audit_update", "DROP TRIGGER audit_delete", "DROP TRIGGER audit_replace"],
        "postgresql": ["DROP TRIGGER audit_changes ON audit"],
    }
    with catalog._database.write() as connection:
        for one in (*triggers[connection.dialect.name], statement):
            connection.execute(text(one))


def test_the_database_rejects_replaced_audit_rows(catalog: Catalog) -> None:
    add_users(catalog, "one", "two")
    before = list(catalog.audit.entries())
    for statement in REPLACEMENTS[catalog._database.engine.dialect.name]:
        with (
            pytest.raises((DBAPIError, TrainfareError), match="never changed"),
            catalog._database.write() as connection,
        ):
            connection.execute(text(statement))
    assert list(catalog.audit.entries()) == before
    add_users(catalog, "three")
    assert catalog.audit.verify().problem is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM audit", "it has 0 entries where it had 3"),
        ("DELETE FROM audit WHERE id = 3", "it has 2 entries where it had 3"),
        ("DELETE FROM audit WHERE id = 1", "entry 2 does not match"),
        ("UPDATE audit SET who = 'nobody' WHERE id = 3", "entry 3 does not match"),
    ],
)
def test_an_emptied_or_truncated_audit_log_is_noticed(catalog: Catalog, statement: str, message: str) -> None:
    add_users(catalog, "one", "two", "three")
    assert catalog.audit.verify().problem is None
    without_triggers(catalog, statement)
    found = catalog.audit.verify().problem
    assert found
    assert message in found
    add_users(catalog, "four")
    assert catalog.audit.verify().problem, "a later entry does not hide it"


def test_a_closing_holds_the_audit_log_of_its_day(store: Store) -> None:
    """Even if the number of entries is set to what is left, the entry of the closing is missing."""
    publish(store)
    closing = store.close(OCTOBER, "mia", "")
    assert (closing.audit_rows, closing.audit_head) == (2, store.catalog.audit.verify().head)
    without_triggers(store.catalog, "DELETE FROM audit")
    with store.catalog._database.write() as connection:
        empty = f"UPDATE table_checksums SET rows = 0, head_sha256 = '{'0' * 64}' WHERE table_name = 'audit'"
        connection.execute(text(empty))
    assert store.catalog.audit.verify().problem == (
        "entry 2 is not the one with which 2026-10 was closed: entries were removed"
    )


def test_rows_that_were_removed_are_noticed_by_the_next_reader(store: Store) -> None:
    publish(store)
    publish(store)
    publish(store, NOVEMBER)
    with store.catalog._database.write() as connection:
        for table, key in (("book_files", "book_id"), ("book_totals", "book_id"), ("books", "id")):
            connection.execute(text(f"DELETE FROM {table} WHERE {key} = 2"))
    with pytest.raises(DamagedError, match="the catalog has 2 books where it had 3"):
        store.catalog.latest(OCTOBER)


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("UPDATE books SET month = '2020-10' WHERE version = 2", "books"),
        ("UPDATE books SET version = 3 WHERE version = 1", "books"),
        ("UPDATE closings SET month = '2020-10'", "closings"),
    ],
)
def test_a_row_that_is_no_longer_found_by_its_key_is_noticed(store: Store, statement: str, table: str) -> None:
    """Otherwise an older version would be the newest one, or a closed month open again."""
    publish(store)
    publish(store)
    store.catalog.close(OCTOBER, "ana", "")
    with store.catalog._database.write() as connection:
        connection.execute(text(statement))
    with pytest.raises(DamagedError, match=f"its {table} are not those that were added"):
        store.catalog.latest(OCTOBER)
    with pytest.raises(DamagedError, match=f"its {table} are not those that were added"):
        store.catalog.closing(OCTOBER)


def test_every_changed_row_is_reported_at_once(store: Store) -> None:
    publish(store)
    publish(store, NOVEMBER)
    problems = Problems()
    store.catalog.check_rows(problems)
    assert problems.found == []
    with store.catalog._database.write() as connection:
        connection.execute(text("UPDATE book_totals SET charges = '1', shares = '1'"))
    store.catalog.check_rows(problems)
    assert [one.where for one in problems.found] == ["book 2026-10 version 1", "book 2026-11 version 1"]


def test_a_clock_that_is_set_back_between_closings_is_no_damage(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    publish(store)
    publish(store, NOVEMBER)
    store.close(NOVEMBER, "mia", "")
    monkeypatch.setattr("trainfare.store.catalog._now", lambda: datetime(2020, 1, 1, tzinfo=UTC))
    store.close(OCTOBER, "mia", "")
    publish_again = Problems()
    store.catalog.check_rows(publish_again)
    assert publish_again.found == []
    assert store.catalog.closings()[OCTOBER].closed_at.year == 2020
