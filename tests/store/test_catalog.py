"""What the catalog stores, returns and rejects, on both databases."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from sqlalchemy.exc import IntegrityError

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.store import Store, Total
from trainfare.store.catalog import Catalog

from .building import NOVEMBER, OCTOBER, Workspace, a_book, a_delivery, publish


def test_a_book_is_read_back_as_published(store: Store, workspace: Workspace) -> None:
    before = datetime.now(UTC)
    first, second = store.add_deliveries([a_delivery(store, "b1"), a_delivery(store, "b1", source="slurm")])
    small, large = Decimal("-0.000000000001"), Decimal("99999999999999999999999999.999999999999")
    totals = (Total("aws", "EUR", "billed", small, small), Total("aws", "USD", "effective", large, large))
    through = datetime(2026, 10, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=2)))
    new = a_book(store, "b1", totals=totals, deliveries=(first.id, second.id), complete_through=through)
    published = store.publish(OCTOBER, None, new)

    with workspace.open() as reopened:
        book = reopened.catalog.latest(OCTOBER)
        assert book == published
        assert (book.month, book.version, book.engine, book.inputs_sha256) == (OCTOBER, 1, "duckdb", "b1")
        assert (dict(book.files), dict(book.rows), book.totals, book.deliveries) == (
            new.files,
            new.rows,
            totals,
            (1, 2),
        )
        assert [str(total.charges) for total in book.totals] == ["-1E-12", "99999999999999999999999999.999999999999"]
        assert book.complete_through == through
        assert book.complete_through.tzinfo is UTC
        assert before <= book.built_at <= datetime.now(UTC)
        assert not book.closed
        assert reopened.catalog.deliveries(book.deliveries) == [first, second]


def test_each_build_of_a_month_is_the_next_version(store: Store) -> None:
    assert store.catalog.latest(OCTOBER) is None
    assert [publish(store).version, publish(store).version, publish(store, NOVEMBER).version] == [1, 2, 1]
    assert [(book.month, book.version) for book in store.catalog.books()] == [(OCTOBER, 1), (OCTOBER, 2), (NOVEMBER, 1)]
    assert store.catalog.months() == [OCTOBER, NOVEMBER]
    older, newer = store.catalog.book(OCTOBER, 1), store.catalog.book(OCTOBER, 2)
    assert newer == store.catalog.latest(OCTOBER)
    assert older.files["shares"] != newer.files["shares"]


def test_a_book_may_be_empty(store: Store) -> None:
    book = publish(store, files={}, rows={}, totals=(), deliveries=())
    assert (dict(book.files), book.totals, book.deliveries) == ({}, (), ())


def test_a_missing_version_names_those_that_exist(store: Store) -> None:
    with pytest.raises(TrainfareError, match="this month has no book yet\n  Run: trainfare build --month 2026-10"):
        store.catalog.book(OCTOBER, 1)
    publish(store)
    with pytest.raises(TrainfareError, match=r"book 2026-10: there is no version 3\n  There is only version 1\."):
        store.catalog.book(OCTOBER, 3)
    publish(store)
    with pytest.raises(TrainfareError, match=r"There are versions 1 to 2\."):
        store.catalog.book(OCTOBER, 3)


def test_a_build_that_was_overtaken_publishes_nothing(store: Store) -> None:
    publish(store)
    with store.lake.building() as build_id:
        slow = a_book(store, build_id)
        fast = publish(store)
        with pytest.raises(IncompleteError) as caught:
            store.publish(OCTOBER, 1, slow)
    assert str(caught.value) == (
        "book 2026-10: another build published version 2 while this one ran\n  Run trainfare build again."
    )
    assert caught.value.exit_code == 3
    assert store.catalog.latest(OCTOBER) == fast
    assert not store.catalog.referenced_files() & set(slow.files.values())


def test_a_first_build_can_be_overtaken_too(store: Store) -> None:
    publish(store)
    with pytest.raises(IncompleteError, match="another build published version 1"):
        store.publish(OCTOBER, None, a_book(store, "b2"))


def test_a_book_that_loses_money_is_not_published(store: Store) -> None:
    lost = Total("aws", "USD", "effective", Decimal("8.00"), Decimal("7.999999999999"))
    with pytest.raises(TrainfareError, match=r"effective of aws .* charges 8.00 USD, shares 7.999999999999 USD"):
        publish(store, totals=(lost,))
    assert store.catalog.latest(OCTOBER) is None
    assert publish(store, totals=(replace(lost, shares=Decimal("8.0")),)).version == 1


def test_a_book_is_published_completely_or_not_at_all(store: Store) -> None:
    """The unknown delivery is the last thing written, so everything before it must be undone."""
    with pytest.raises(IntegrityError):
        publish(store, deliveries=(404,))
    assert store.catalog.books() == []
    assert store.catalog.referenced_files() == set()
    assert publish(store).version == 1


def test_inexact_money_is_rejected(store: Store) -> None:
    with pytest.raises(Exception, match="is not an exact amount"):
        publish(store, totals=(Total("aws", "USD", "list", 0.1, 0.1),))  # type: ignore[arg-type]
    with pytest.raises(Exception, match="has no zone"):
        publish(store, complete_through=datetime(2026, 10, 31))
    assert store.catalog.books() == []


def test_a_delivery_is_stored_once(store: Store) -> None:
    """The same file again, even within one call, is the same delivery; read with other settings, it is another."""
    first, again = store.add_deliveries([a_delivery(store, "b1"), a_delivery(store, "b1")])
    assert first == again
    later, other = store.add_deliveries([a_delivery(store, "b2"), a_delivery(store, "b2", settings="s2")])
    assert later == first
    assert (other.id, other.lines) == (2, 3_000_000_000)
    assert store.catalog.find_delivery("aws", "c1", "s2") == other
    assert store.catalog.find_delivery("gcp", "c1", "s1") is None
    assert store.catalog.deliveries([2, 1, 404]) == [first, other]
    assert store.catalog.deliveries([]) == []


def test_deliveries_are_added_together_or_not_at_all(store: Store) -> None:
    good = a_delivery(store, "b1")
    with pytest.raises(IntegrityError):
        store.catalog.add_deliveries([good, replace(good, content_sha256="c2", format=None)])  # type: ignore[arg-type]
    assert store.catalog.find_delivery("aws", "c1", "s1") is None


def test_a_file_name_need_not_be_text(store: Store) -> None:
    named = replace(a_delivery(store, "b1"), path=b"bills/m\xe4rz.csv".decode("utf-8", "surrogateescape"))
    assert store.add_deliveries([named])[0].path == "bills/m\\udce4rz.csv"


def test_a_closed_month_does_not_change(store: Store) -> None:
    catalog: Catalog = store.catalog
    publish(store)
    publish(store)
    publish(store, NOVEMBER)
    assert catalog.closing(OCTOBER) is None
    closing = catalog.close(OCTOBER, "mia", "invoice 77 matched")
    assert catalog.closing(OCTOBER) == closing
    assert (closing.month, closing.version, closing.closed_by, closing.note) == (
        OCTOBER,
        2,
        "mia",
        "invoice 77 matched",
    )
    assert [book.closed for book in catalog.books()] == [False, True, False]

    with pytest.raises(IncompleteError, match="book 2026-10: the month is closed, with version 2"):
        publish(store)
    assert publish(store, NOVEMBER).version == 2


def test_a_month_is_closed_once(store: Store) -> None:
    publish(store)
    store.catalog.close(OCTOBER, "mia", "")
    message = r"book 2026-10: it was closed on \d{4}-\d\d-\d\d by mia, with version 1\n  A closed month does not change"
    with pytest.raises(TrainfareError, match=message):
        store.catalog.close(OCTOBER, "ben", "")


def test_a_month_without_a_book_cannot_be_closed(catalog: Catalog) -> None:
    with pytest.raises(TrainfareError, match="book 0999-01: this month has no book yet"):
        catalog.close(Month(999, 1), "mia", "")


def test_books_and_deliveries_name_their_files(store: Store) -> None:
    delivery = store.add_deliveries([a_delivery(store, "b1")])[0]
    book = publish(store, deliveries=(delivery.id,))
    assert store.catalog.referenced_files() == {delivery.archive, *book.files.values()}
