"""The states of findings: new, known, accepted for a while, gone. The same on every database."""

from datetime import date, timedelta

from trainfare.query.check import FindingStates
from trainfare.store import Store

from .building import NOVEMBER, OCTOBER, publish

TODAY = date(2026, 11, 16)


def states(store: Store, on: date = TODAY) -> FindingStates:
    return FindingStates(store.catalog.finding_log.sightings(), store.catalog.finding_log.accepted(on))


def test_a_finding_is_new_in_its_first_book_and_known_in_every_later_one(store: Store) -> None:
    first = publish(store)
    store.catalog.finding_log.record(first, {"F1", "F7"})
    store.catalog.finding_log.record(first, {"F1", "F7"})
    assert states(store).state("F1", (OCTOBER, 1)) == "new"
    assert states(store).state("F1", (OCTOBER, 2)) == "known"
    assert states(store).state("F1", (NOVEMBER, 1)) == "known"
    assert states(store).state("F5", (NOVEMBER, 1)) == "new"
    assert states(store).gone({"F1"}, (NOVEMBER, 1)) == ["F7"]
    assert states(store).gone({"F1"}, (OCTOBER, 1)) == []


def test_an_accepted_finding_comes_back_when_the_acceptance_ends(store: Store) -> None:
    store.catalog.finding_log.accept("F7", "load test", TODAY, "ana")
    assert states(store).state("F7", (OCTOBER, 1)) == "accepted"
    assert states(store, TODAY + timedelta(days=1)).state("F7", (OCTOBER, 1)) == "new"


def test_the_latest_acceptance_of_a_finding_counts(store: Store) -> None:
    store.catalog.finding_log.accept("F7", "load test", TODAY + timedelta(days=9), "ana")
    store.catalog.finding_log.accept("F7", "no longer", TODAY - timedelta(days=1), "ana")
    assert states(store).accepted == {}
