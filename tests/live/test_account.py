"""The live account: what is known when, what is unknown, and whose records it rests on."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from trainfare.live import prices, summary
from trainfare.live.account import LiveAccount
from trainfare.live.window import BILLED, NO_PRICE, UNKNOWN_MACHINE, last, rate, window
from trainfare.store import Store
from trainfare.store.live.tables import HOLDINGS

from .cluster import Cluster, at, costs, now, run, second


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def account(cluster: Cluster, store: Store) -> Iterator[LiveAccount]:
    opened = LiveAccount(cluster.config, store)
    yield opened
    opened.close()


def test_a_job_pays_for_what_it_holds_and_the_rest_is_idle(
    cluster: Cluster, store: Store, account: LiveAccount
) -> None:
    cluster.hears(store, 30.5, (run(1, "n1", 3, 30), False))
    now(account, 31)
    with account.read() as connection:
        assert costs(window(connection, second(30), second(31))) == {"1": "3.00", "idle": "1.00"}
        assert costs(last(connection, 900)) == {"1": "1.50", "idle": "0.50"}
        assert {part.units * 3600 / 10**12 for part in rate(connection).parts} == {6, 2}


def test_a_window_ends_where_the_records_do(cluster: Cluster, store: Store, account: LiveAccount) -> None:
    """Half an hour is missing: it is not idle, it is not known."""
    cluster.hears(store, 30.5, (run(1, "n1", 4, 30), False))
    now(account, 31)
    with account.read() as connection:
        found = window(connection, second(30), second(31))
    assert (found.through, costs(found)) == (second(30.5), {"1": "4.00"})


def test_a_job_that_is_heard_of_late_was_there_all_the_time(
    cluster: Cluster, store: Store, account: LiveAccount
) -> None:
    cluster.hears(store, 30)
    now(account, 30)
    with account.read() as connection:
        assert costs(window(connection, second(29), second(30))) == {"idle": "8.00"}
    cluster.hears(store, 31, (run(1, "n1", 4, 29.25, 29.75), True))
    now(account, 31)
    with account.read() as connection:
        assert costs(window(connection, second(29), second(30))) == {"1": "4.00", "idle": "4.00"}


def test_what_nothing_changed_is_not_written_again(cluster: Cluster, store: Store, account: LiveAccount) -> None:
    cluster.hears(store, 30, (run(1, "n1", 4, 29), False))
    now(account, 30)
    assert account.refresh(at(30)).changed == 0
    with account.read() as connection:
        assert len(connection.execute(HOLDINGS.select()).all()) == 1


def test_a_machine_without_a_price_is_unknown_and_not_free(
    cluster: Cluster, store: Store, account: LiveAccount
) -> None:
    cluster.hears(store, 30, (run(1, "n2", 4, 29), False), (run(2, "n1", 4, 29), False))
    now(account, 30)
    with account.read() as connection:
        found, current = window(connection, second(29), second(30)), rate(connection)
    assert [(one.machine_id, one.reason, one.seconds) for one in found.unknowns] == [("n2", NO_PRICE, 3600)]
    rows = {row.group.rpartition("/")[2]: row for row in summary.summarize(found, current)}
    assert (rows["1"].cost, rows["1"].at_least, rows["1"].per_hour) == (None, Decimal(0), None)
    assert rows["1"].reasons == ("n2: no known price",)
    assert (rows["2"].cost, rows["2"].per_hour) == (Decimal("8.00"), Decimal("8.00"))


def test_billed_time_is_not_unknown(cluster: Cluster, store: Store, account: LiveAccount) -> None:
    cluster.hears(store, 30)
    now(account, 30)
    with account.read() as connection:
        found = window(connection, second(22), second(24))
    reasons = {one.machine_id: one.reason for one in found.unknowns}
    assert reasons["n1"] == BILLED
    assert found.parts == []


def test_a_machine_that_no_source_knows_is_named(cluster: Cluster, store: Store, account: LiveAccount) -> None:
    cluster.hears(store, 30, (run(1, "ghost", 4, 29), False))
    now(account, 30)
    with account.read() as connection:
        found = window(connection, second(29), second(30))
    assert ("ghost", UNKNOWN_MACHINE, 3600) in [(one.machine_id, one.reason, one.seconds) for one in found.unknowns]


def test_a_new_machine_has_a_price_as_soon_as_a_source_lists_it(
    cluster: Cluster, store: Store, account: LiveAccount
) -> None:
    """The sources are read again when an unknown machine is held, not an hour later, and not at every refresh."""
    cluster.hears(store, 30)
    now(account, 30)
    bill = (cluster.folder / "bill.csv").read_text(encoding="utf-8")
    (cluster.folder / "bill.csv").write_text(bill + bill.partition("\n")[2].replace("n1", "n9"), encoding="utf-8")
    cluster.hears(store, 30.5, (run(1, "n9", 1, 30), False))
    now(account, 30.5)
    with account.read() as connection:
        assert costs(window(connection, second(30), second(30.5)))["1"] == "4.00"


def test_a_collector_that_is_behind_does_not_stop_the_others(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, "lab", "far", machines="n1,4,lab\nn2,4,far\n")
    with Store.open(tmp_path) as store:
        account = LiveAccount(cluster.config, store)
        cluster.hears(store, 30, (run(1, "n1", 4, 29), False))
        cluster.hears(store, 26, (run(2, "n2", 4, 25), False), collector="far")
        now(account, 30)
        with account.read() as connection:
            found = window(connection, second(29), second(30))
        account.close()
    assert {(one.name, one.complete_through) for one in found.sources} == {("lab", second(30)), ("far", second(26))}
    assert costs(found) == {"1": "8.00"}
    assert found.through == second(26)


def test_a_machine_that_nobody_names_waits_for_everybody(tmp_path: Path) -> None:
    """Any cluster may hold it, so it is idle only as far as all of them are complete."""
    cluster = Cluster(tmp_path, "lab", "far")
    with Store.open(tmp_path) as store:
        account = LiveAccount(cluster.config, store)
        cluster.hears(store, 30)
        cluster.hears(store, 26, collector="far")
        now(account, 30)
        with account.read() as connection:
            assert costs(window(connection, second(25), second(30))) == {"idle": "8.00"}
        account.close()


def test_an_idle_machine_of_a_cluster_waits_for_that_cluster_only(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, "lab", "far", machines="n1,4,lab\n")
    with Store.open(tmp_path) as store:
        account = LiveAccount(cluster.config, store)
        cluster.hears(store, 30)
        cluster.hears(store, 26, collector="far")
        now(account, 30)
        with account.read() as connection:
            assert costs(window(connection, second(25), second(30))) == {"idle": "40.00"}
        account.close()


def test_a_collector_that_was_removed_does_not_stop_its_machines(tmp_path: Path) -> None:
    both = Cluster(tmp_path, "lab", "far", machines="n1,4,\n")
    with Store.open(tmp_path) as store:
        account = LiveAccount(both.config, store)
        both.hears(store, 26, (run(1, "n1", 4, 25, 25.5), True), collector="far")
        both.hears(store, 30)
        now(account, 30)
        with account.read() as connection:
            assert costs(window(connection, second(29), second(30))) == {}, "far may hold it"
        account.close()
        alone = Cluster(tmp_path, "lab", machines="n1,4,\n")
        account = LiveAccount(alone.config, store)
        account.refresh(at(30))
        with account.read() as connection:
            assert costs(window(connection, second(29), second(30))) == {"idle": "8.00"}
        account.close()


def test_an_old_file_does_not_hold_back_a_machine_that_is_collected(
    cluster: Cluster, store: Store, account: LiveAccount
) -> None:
    log = "job_id,attempt,machine_id,started,ended,gpus,state\nold,1,n1,2026-10-02T01:00:00Z,2026-10-02T02:00:00Z,4,completed\n"
    (cluster.folder / "jobs.csv").write_text(log, encoding="utf-8")
    settings = cluster.folder / "trainfare.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + '[[source]]\npath = "jobs.csv"\n', encoding="utf-8")
    account = LiveAccount(cluster.config, store)
    cluster.hears(store, 30, (run(1, "n1", 4, 29), False))
    now(account, 30)
    with account.read() as connection:
        assert costs(window(connection, second(29), second(30))) == {"1": "8.00"}
        assert costs(window(connection, second(25), second(26))) == {"old": "8.00"}
    account.close()


def test_a_viewer_sees_only_its_own_jobs(cluster: Cluster, store: Store, account: LiveAccount) -> None:
    cluster.hears(store, 30, (run(1, "n1", 3, 29), False))
    now(account, 30)
    with account.read() as connection:
        found, current = window(connection, second(29), second(30)), rate(connection)
    assert [row.cost for row in summary.summarize(found, current, "team", ["team:nlp"])] == [Decimal("6.00")]
    assert summary.summarize(found, current, "team", ["team:vision"]) == []
    assert summary.summarize(found, current, "machine", []) == []


def test_sums_are_rounded_once_to_the_even_unit() -> None:
    assert summary.amount(Fraction(10**12, 3)) == Decimal("0.333333333333")
    assert summary.amount(Fraction(5, 2)) == Decimal("0.000000000002")
    assert summary.amount(Fraction(-7, 2)) == Decimal("-0.000000000004")


def test_an_hour_keeps_its_estimate_when_it_is_billed() -> None:
    known = [
        {"machine": 1, "units": "5", "starts": 0, "ends": 100},
        {"machine": 2, "units": "5", "starts": 0, "ends": 100},
    ]
    found = [{"machine": 1, "units": "6", "starts": 60, "ends": 200}]
    assert sorted(prices.merged(known, found, 80), key=str) == [
        {"machine": 1, "units": "5", "starts": 0, "ends": 60},
        {"machine": 1, "units": "6", "starts": 60, "ends": 200},
        {"machine": 2, "units": "5", "starts": 0, "ends": 80},
    ]
