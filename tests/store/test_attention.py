"""The lives of findings: new, known, accepted for a while, gone. The same on every database."""

from datetime import date, timedelta

from trainfare.report.check import Life
from trainfare.store import Store

from .building import NOVEMBER, OCTOBER, publish

TODAY = date(2026, 11, 16)


def life(store: Store, on: date = TODAY) -> Life:
    return Life(store.catalog.attention.seen(), store.catalog.attention.accepted(on))


def test_a_finding_is_new_in_its_first_book_and_known_in_every_later_one(store: Store) -> None:
    first = publish(store)
    store.catalog.attention.see(first, {"F1", "F7"})
    store.catalog.attention.see(first, {"F1", "F7"})
    assert life(store).state("F1", (OCTOBER, 1)) == "new"
    assert life(store).state("F1", (OCTOBER, 2)) == "known"
    assert life(store).state("F1", (NOVEMBER, 1)) == "known"
    assert life(store).state("F5", (NOVEMBER, 1)) == "new"
    assert life(store).gone({"F1"}, (NOVEMBER, 1)) == ["F7"]
    assert life(store).gone({"F1"}, (OCTOBER, 1)) == []


def test_what_is_accepted_comes_back_when_its_time_is_over(store: Store) -> None:
    store.catalog.attention.accept("F7", "load test", TODAY, "ana")
    assert life(store).state("F7", (OCTOBER, 1)) == "accepted"
    assert life(store, TODAY + timedelta(days=1)).state("F7", (OCTOBER, 1)) == "new"


def test_the_last_word_on_a_finding_counts(store: Store) -> None:
    store.catalog.attention.accept("F7", "load test", TODAY + timedelta(days=9), "ana")
    store.catalog.attention.accept("F7", "no longer", TODAY - timedelta(days=1), "ana")
    assert life(store).accepted == {}
