"""Each failure mode on the case that must trigger it, and on the nearest ones that must not."""

from decimal import Decimal

import pytest

from .books import BILL, DAY, HOUR, JOBS, Account, Bookkeeper, Case, charge, placement, stamp, with_settings, write_rows
from .story import story
from .test_failure_modes import (
    EVERY_DAY,
    SOUND,
    STORAGE,
    at_stake,
    busy,
    covered,
    evidence,
    machine,
    month_of,
    with_ledger,
    with_second_log,
)

LABOR = "day,person,role,hours,rate,currency,project\n"
LICENSES = "license,per,price,every,currency,started,ended\n"


def with_two_bills(keeper: Bookkeeper, first: list, second: list, case: Case = SOUND) -> Account:
    """Book a case whose bill comes as two sources without names."""
    folder = keeper.write(case)
    for name, rows in (("b1", first), ("b2", second)):
        write_rows(folder / f"{name}.csv", BILL, rows)
    return keeper.account(with_settings(folder, ["b1.csv", "b2.csv", "jobs.csv", "machines.csv"]))


@story
def test_only_the_attempt_preempted_on_a_spot_machine_counts_not_the_one_that_failed_by_itself():
    """
    machine  n1  8 gpus  12 h  48.00 USD  pricing Dynamic
    attempt  a    8 gpus  4 h  state preempted  owner ana
    attempt  a#2  8 gpus  4 h  state failed     owner ana
    attempt  a#3  8 gpus  4 h  owner ana
    =>
    a    16.00
    a#2  16.00
    a#3  16.00
    => failure modes
    F2  16.00
    """


@story
def test_preemption_on_an_on_demand_machine_is_not_spot_churn():
    """
    machine  n1  8 gpus  12 h  48.00 USD  pricing Standard
    attempt  a    8 gpus  4 h  state preempted  owner ana
    attempt  a#2  8 gpus  4 h  state failed     owner ana
    attempt  a#3  8 gpus  4 h  owner ana
    =>
    a    16.00
    a#2  16.00
    a#3  16.00
    => failure modes
    """


@story
def test_a_restart_is_spot_churn_only_after_a_preemption_on_a_spot_machine():
    """
    machine  n1  8 gpus  30 h  30.00 USD  pricing Dynamic
    attempt  a    8 gpus  10 h  state failed     owner ana
    attempt  a#2  8 gpus  10 h  state preempted  owner ana
    attempt  a#3  8 gpus  10 h  owner ana
    measured a    step 100  10 h
    measured a    checkpoint 90  1 h  from 8 h
    measured a#2  step 200  8 h  from 12 h
    measured a#2  checkpoint 190  1 h  from 18 h
    measured a#3  step 300  9 h  from 21 h
    =>
    a    10.00
    a#2  10.00
    a#3  10.00
    => failure modes
    F2  2.00
    """


@story
def test_egress_counts_the_machines_region_where_the_source_is_not_named():
    """
    machine  n1  8 gpus  4 h  8.00 USD  region eu
    attempt  a   8 gpus  4 h  owner ana
    measured a   bytes_sent 100  1 h  to_region us
    charge   network  6.00 USD  4 h  tag job_id=a
    =>
    a  14.00
    => failure modes
    F3  6.00
    """


@story
def test_bytes_within_a_region_take_no_part_of_the_egress_cost():
    """
    machine  n1  8 gpus  4 h  8.00 USD  region eu
    attempt  a   8 gpus  4 h  owner ana
    measured a   bytes_sent 900  1 h  from_region eu  to_region eu
    measured a   bytes_sent 100  1 h  from_region eu  to_region us
    charge   network  6.00 USD  4 h  tag job_id=a
    =>
    a  14.00
    => failure modes
    F3  6.00
    """


@story
def test_bytes_to_an_unknown_region_or_within_one_are_not_cross_region():
    """
    machine  n1  8 gpus  4 h  8.00 USD  region eu
    attempt  a   8 gpus  2 h  owner ana
    attempt  b   8 gpus  2 h  owner ana
    measured a   bytes_sent 100  1 h  from_region eu
    measured b   bytes_sent 100  1 h  to_region EU
    charge   network  6.00 USD  2 h  tag job_id=a
    charge   network  6.00 USD  2 h  tag job_id=b
    =>
    a  10.00
    b  10.00
    => failure modes
    """


def test_egress_at_stake_is_the_money_that_m7_shows_for_the_pair(keeper: Bookkeeper) -> None:
    """Uneven bytes over two days and two destinations: the same figure to the last digit."""
    network = {"ServiceCategory": "Networking", "ServiceName": "Data Transfer", "Tags": '{"job_id": "job-n1"}'}
    row = {"job_id": "job-n1", "attempt": 1, "measure": "bytes_sent", "from_region": ""}
    bytes_sent = [
        row | {"started": stamp(0), "ended": stamp(2 * DAY - 7), "value": 1001, "to_region": "us"},
        row | {"started": stamp(HOUR), "ended": stamp(DAY), "value": 333, "to_region": "ap"},
    ]
    lines = [*SOUND.charges, charge((0, 3 * DAY), "10.000000000001", **network)]
    listed = [machine("n1") | {"region": "eu"}]
    account = keeper.book(Case(lines, SOUND.placements, listed, measured=bytes_sent))
    (m7,) = account.opened.engine.row("SELECT sum(effective) FROM egress WHERE from_region <> to_region")
    assert at_stake(account) == {"F3": m7} == {"F3": Decimal("10.000000000001")}


def test_requests_measured_over_several_days_explain_the_storage_of_each(keeper: Bookkeeper) -> None:
    """One measurement of 31,000 requests over the month is a thousand a day, not 31,000 on the first."""
    stored = [charge(day, "1", Tags='{"team": "nlp"}', **STORAGE) for day in EVERY_DAY]
    daily = [{"job_id": "job-n1", "attempt": 1, "measure": "storage_requests", "value": 10}]
    rows = [row | {"started": stamp(start), "ended": stamp(end)} for row in daily for start, end in EVERY_DAY]
    whole = {"job_id": "job-n1", "attempt": 1, "measure": "storage_requests", "value": 31000}
    rows.append(whole | {"started": stamp(0), "ended": stamp(31 * DAY)})
    assert at_stake(keeper.book(Case([*SOUND.charges, *stored], SOUND.placements, SOUND.machines, measured=rows))) == {}


def test_two_bills_for_different_days_of_a_machine_are_not_double_counting(keeper: Bookkeeper) -> None:
    days = month_of("n1")
    assert at_stake(with_two_bills(keeper, days[:2], days[2:])) == {}


def test_two_bills_that_overlap_for_some_hours_count_for_these_hours(keeper: Bookkeeper) -> None:
    """The second bill charges 2 an hour for six hours that the first charges 1 an hour for."""
    lines = [charge((20 * HOUR, 30 * HOUR), "20", ServiceCategory="Compute", ServiceName="Reseller", ResourceId="n1")]
    account = with_two_bills(keeper, month_of("n1"), lines)
    assert at_stake(account) == {"F5": Decimal(10)}
    assert evidence(account, "F5") == ["machine n1 is on the bills b1, b2"]


def test_a_correction_on_a_second_bill_is_not_double_counting(keeper: Bookkeeper) -> None:
    refund = month_of("n1", "-4", ChargeClass="Correction")[:3]
    assert at_stake(with_two_bills(keeper, month_of("n1"), refund)) == {}


def test_one_export_under_two_source_names_counts_once_with_all_of_its_lines(keeper: Bookkeeper) -> None:
    """A machine and storage: 25 a day. The machine is not counted again for being on two bills."""
    stored = [charge(day, "1", Tags='{"team": "nlp"}', **STORAGE) for day in EVERY_DAY]
    lines = [*month_of("n1"), *stored]
    account = with_two_bills(keeper, lines, [*reversed(lines)][:-1])
    assert at_stake(account) == {"F5": Decimal(30 * 25)}
    assert evidence(account, "F5")[0] == "source b1 and b2, account A-1, 2026-10-02: 2 lines are in 2 files"


def array_tasks(count: int, gpus: int, prefix: str = "7_") -> list:
    return [placement(f"{prefix}{n}", "n1", (0, 31 * DAY), gpus=gpus, owner="ana") for n in range(count)]


def test_array_tasks_that_exactly_fill_a_machine_are_not_copies(keeper: Bookkeeper) -> None:
    assert at_stake(keeper.book(Case(SOUND.charges, array_tasks(4, 2), SOUND.machines))) == {}


def test_tasks_of_one_log_beyond_capacity_are_not_copies(keeper: Bookkeeper) -> None:
    """They are held beyond capacity, which is another finding: one log names its runs once."""
    account = keeper.book(Case(SOUND.charges, array_tasks(5, 2), SOUND.machines))
    assert at_stake(account) == {}
    assert "HELD_BEYOND_CAPACITY" in account.findings


def test_like_runs_in_two_logs_that_fit_the_machine_are_not_copies(keeper: Bookkeeper) -> None:
    case = Case(SOUND.charges, array_tasks(2, 2), SOUND.machines)
    assert at_stake(with_second_log(keeper, case, array_tasks(2, 2, "ray-"))) == {}


def test_like_runs_in_two_logs_beyond_capacity_are_copies_one_for_one(keeper: Bookkeeper) -> None:
    """Two tasks of 4 GPUs, each in both logs: two copies, which pay half of the month."""
    case = Case(SOUND.charges, array_tasks(2, 4), SOUND.machines)
    account = with_second_log(keeper, case, array_tasks(2, 4, "ray-"))
    assert at_stake(account) == {"F5": Decimal(372)}
    assert evidence(account, "F5") == [
        "run ray-0 is 7_0 under another name, from 2026-10-01 00:00:00",
        "run ray-1 is 7_1 under another name, from 2026-10-01 00:00:00",
    ]


def test_a_row_that_two_logs_have_under_one_name_is_not_a_copy(keeper: Bookkeeper) -> None:
    another = placement("next", "n1", (31 * DAY, 32 * DAY), gpus=8, owner="ana")
    account = with_second_log(keeper, SOUND, [*SOUND.placements, another])
    assert at_stake(account) == {}
    assert "ROW_DELIVERED_TWICE" in account.findings


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        (["100"] * 5 + ["92"] * 20, Decimal(40)),
        (["0.5"] + ["100"] * 24, Decimal("99.5")),
        (["100"] * 25, Decimal(0)),
        (["92"] * 25, Decimal(0)),
        (["92.0000004", "91.9999996"] * 12, Decimal(0)),
    ],
    ids=["8 percent more on five days", "a low first day", "level", "level at another price", "rounded"],
)
def test_a_commitment_is_compared_with_its_median_day(
    keeper: Bookkeeper, amounts: list[str], expected: Decimal
) -> None:
    lines = [line for money, day in zip(amounts, EVERY_DAY, strict=False) for line in covered("n1", money, [day])]
    held = [placement("job-n1", "n1", (0, 25 * DAY), gpus=8, owner="ana")]
    assert at_stake(keeper.book(Case(lines, held, SOUND.machines))).get("F6", Decimal(0)) == expected


def test_less_usage_under_a_commitment_is_not_another_price(keeper: Bookkeeper) -> None:
    """Half a day costs half, at list price and effectively."""
    lines = covered("n1", "24", EVERY_DAY[:20])
    half = covered("n1", "12", [(20 * DAY, 20 * DAY + 12 * HOUR)])
    lines += [dict(row) | {"ListCost": "20", "ContractedCost": "20"} for row in half]
    held = [placement("job-n1", "n1", (0, 20 * DAY + 12 * HOUR), gpus=8, owner="ana")]
    assert at_stake(keeper.book(Case(lines, held, SOUND.machines))) == {}


def burst(count: int, hours: int, apart: int) -> tuple[list, list]:
    """The lines and the list of machines that start on the 5th, each some seconds after the one before."""
    starts = [4 * DAY + apart * n for n in range(count)]
    names = [f"b{n}" for n in range(count)]
    lines = [
        charge((at, at + hours * HOUR), "10", ServiceCategory="Compute", ServiceName="VM", ResourceId=name)
        for name, at in zip(names, starts, strict=True)
    ]
    listed = [machine(name, at, at + hours * HOUR) for name, at in zip(names, starts, strict=True)]
    return lines, listed


@pytest.mark.parametrize(
    ("started", "expected"),
    [((4, 2, 60), {"F7": Decimal(40)}), ((3, 2, 60), {}), ((4, 1, 60), {}), ((4, 2, 1801), {})],
    ids=["four idle machines", "three", "gone within the hour", "half an hour apart"],
)
def test_a_burst_is_four_machines_that_stay_idle_for_two_hours(
    keeper: Bookkeeper, started: tuple[int, int, int], expected: dict[str, Decimal]
) -> None:
    lines, listed = burst(*started)
    case = Case([*SOUND.charges, *lines], SOUND.placements, [*SOUND.machines, *listed])
    assert at_stake(keeper.book(case)) == expected


def test_machines_that_are_there_when_the_bill_begins_did_not_start_in_a_burst(keeper: Bookkeeper) -> None:
    """The first bill of a new customer begins on the 5th; nobody said since when its machines exist."""
    names = [f"b{n}" for n in range(5)]
    lines = [line for name in names for line in month_of(name, days=EVERY_DAY[4:])]
    listed = [machine(name) | {"existed_from": ""} for name in names]
    assert at_stake(keeper.book(Case(lines, (), listed))) == {}


def two_accounts(keeper: Bookkeeper, listed: dict, held_to: int) -> Account:
    """n1 is billed and held all month; n2, the only machine of account A-2, is billed through the 5th."""
    lines = [*SOUND.charges, *month_of("n2", days=EVERY_DAY[:5], SubAccountId="A-2")]
    held = [*SOUND.placements, placement("short", "n2", (0, held_to), gpus=8, owner="ana")]
    return keeper.book(Case(lines, held, [*SOUND.machines, machine("n2") | {"account": "A-2"} | listed]))


def test_a_machine_that_is_only_listed_after_its_bill_ends_is_another_finding_at_most(keeper: Bookkeeper) -> None:
    account = two_accounts(keeper, {}, 5 * DAY)
    assert at_stake(account) == {}
    rows = account.opened.engine.rows("SELECT code, at_stake FROM findings WHERE code LIKE '%NOT_BILLED%'")
    assert rows == [("LISTED_NOT_BILLED", Decimal(26 * 24))]


def test_a_machine_that_was_removed_when_its_bill_ended_is_not_late(keeper: Bookkeeper) -> None:
    account = two_accounts(keeper, {"existed_to": stamp(5 * DAY)}, 5 * DAY)
    assert at_stake(account) == {}
    assert not {code for code in account.findings if "NOT_BILLED" in code}


def test_a_machine_that_was_held_after_its_bill_ends_is_late_for_as_long_as_it_was_held(keeper: Bookkeeper) -> None:
    account = two_accounts(keeper, {}, 7 * DAY)
    assert at_stake(account) == {"F8": Decimal(2 * 24)}
    assert "LISTED_NOT_BILLED" not in account.findings


def test_a_machine_that_was_seen_after_its_bill_ends_is_late_until_it_was_removed(keeper: Bookkeeper) -> None:
    assert at_stake(two_accounts(keeper, {"existed_to": stamp(9 * DAY)}, 5 * DAY)) == {"F8": Decimal(4 * 24)}


def test_a_machine_is_late_although_another_one_of_its_account_is_billed_further(keeper: Bookkeeper) -> None:
    lines = [*SOUND.charges, *month_of("n2", days=EVERY_DAY[:5])]
    account = keeper.book(Case(lines, busy("n1", "n2"), [*SOUND.machines, machine("n2")]))
    assert at_stake(account) == {"F8": Decimal(26 * 24)}


def test_a_log_that_ends_half_a_minute_after_the_bill_is_not_late(keeper: Bookkeeper) -> None:
    """Clocks differ; another machine of the account is billed to the end."""
    lines = [*SOUND.charges, *month_of("n2", days=EVERY_DAY[:5])]
    held = [*SOUND.placements, placement("short", "n2", (0, 5 * DAY + 30), gpus=8, owner="ana")]
    assert at_stake(keeper.book(Case(lines, held, [*SOUND.machines, machine("n2")]))) == {}


def test_hours_that_are_estimated_are_still_not_billed(keeper: Bookkeeper) -> None:
    """The estimate is not a bill: ten days of the machine are late with it and without it."""
    case = Case(month_of("n1", days=EVERY_DAY[:21]), SOUND.placements, SOUND.machines, "estimate = true")
    assert at_stake(keeper.book(case))["F8"] == Decimal(240)


def test_a_service_that_stopped_before_the_bill_ended_is_not_late(keeper: Bookkeeper) -> None:
    stored = [charge(day, "3", Tags='{"team": "nlp"}', **STORAGE) for day in EVERY_DAY[:10]]
    case = Case([*month_of("n1", days=EVERY_DAY[:21]), *stored], SOUND.placements, SOUND.machines)
    assert at_stake(keeper.book(case)) == {"F8": Decimal(240)}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("2026-10-05,ann,,8,100,USD,atlas\n2026-10-05,ann,,8,10,USD,atlas\n", 40),
        ("2026-10-05,ann,,8,10,USD,atlas\n2026-10-05,Ann,,8,100,USD,atlas\n", 400),
        ("2026-10-05,,engineer,8,51,USD,atlas\n2026-10-05,,engineer,8,51,USD,atlas\n", 0),
        ("2026-10-05,ann,,8,10,USD,atlas\n2026-10-06,ann,,8,10,USD,atlas\n", 0),
        ("2026-10-05,ann,,12,10,USD,atlas\n", 0),
        ("2026-10-05,ann,,8,10,USD,atlas\n2026-10-05,ann,,8,10,USD,atlas\n2026-10-05,ann,,-8,10,USD,atlas\n", 0),
        ("2026-10-05,,crew,15,10,USD,atlas\n", 30),
        ("2026-10-05,ann,,20,10,USD,perseus\n", 200),
    ],
    ids=[
        "the last hours cost least",
        "the last hours cost most, whatever the case of the name",
        "two people of one role",
        "two days",
        "exactly twelve hours",
        "an entry that is reversed",
        "one entry of fifteen hours without a person",
        "a project without jobs counts once",
    ],
)
def test_hours_beyond_twelve_cost_what_the_last_entries_of_the_person_do(
    keeper: Bookkeeper, entries: str, expected: int
) -> None:
    assert at_stake(with_ledger(keeper, "labor", LABOR + entries)).get("F9", 0) == expected


def test_a_person_with_entries_in_two_currencies_has_one_day(keeper: Bookkeeper) -> None:
    entries = "2026-10-05,ann,,8,10,USD,atlas\n2026-10-05,ann,,8,10,EUR,atlas\n"
    account = with_ledger(keeper, "labor", LABOR + entries)
    rows = account.opened.engine.rows("SELECT currency, at_stake FROM failure_modes WHERE code = 'F9'")
    assert rows == [("EUR", Decimal(40))]


def test_implausible_hours_are_counted_in_the_currency_of_the_book(keeper: Bookkeeper) -> None:
    folder = keeper.write(SOUND)
    (folder / "labor.csv").write_text(f"{LABOR}2026-10-05,ann,,16,10,EUR,atlas\n", encoding="utf-8")
    rates = "day,from_currency,to_currency,rate\n2026-10-01,EUR,USD,1.25\n"
    (folder / "rates.csv").write_text(rates, encoding="utf-8")
    files = ["bill.csv", "jobs.csv", "machines.csv", "labor.csv", "rates.csv"]
    account = keeper.account(with_settings(folder, files, '[convert]\nto = "USD"\ndays = 31\n'))
    rows = account.opened.engine.rows("SELECT code, currency, at_stake FROM failure_modes WHERE at_stake <> 0")
    assert rows == [("F9", "USD", Decimal(50))]


def test_a_project_has_jobs_in_the_month_or_it_has_none_however_logs_are_filed(keeper: Bookkeeper) -> None:
    """The project's only job ran in September; whether its row is in October's file does not matter."""
    september = placement("old", "n1", (-9 * DAY, -8 * DAY), gpus=8, owner="ana", project="perseus")
    entries = f"{LABOR}2026-10-05,ann,,2,10,USD,perseus\n"
    for rows, more in (([*SOUND.placements, september], []), (SOUND.placements, [september])):
        folder = keeper.write(Case(SOUND.charges, rows, SOUND.machines))
        write_rows(folder / "more.csv", JOBS, more)
        (folder / "labor.csv").write_text(entries, encoding="utf-8")
        files = ["bill.csv", "jobs.csv", "more.csv", "machines.csv", "labor.csv"]
        assert at_stake(keeper.account(with_settings(folder, files))) == {"F9": Decimal(20)}


def with_september(keeper: Bookkeeper, licenses: str) -> dict[str, Decimal]:
    """Return what is at stake in October, where September has a book too."""
    billing = {"BillingPeriodStart": stamp(-30 * DAY), "BillingPeriodEnd": stamp(0)}
    september = month_of("n1", days=[(-DAY, 0)], **billing)
    folder = keeper.write(Case([*september, *SOUND.charges], SOUND.placements, SOUND.machines))
    (folder / "licenses.csv").write_text(LICENSES + licenses, encoding="utf-8")
    account = keeper.account(with_settings(folder, ["bill.csv", "jobs.csv", "machines.csv", "licenses.csv"]))
    rows = account.opened.engine.rows("SELECT code, at_stake FROM failure_modes WHERE code = 'F10'")
    return dict(rows)


def test_a_license_that_starts_on_the_first_is_new_if_the_previous_book_lacks_it(keeper: Bookkeeper) -> None:
    new = "profiler,flat,310,term,USD,2026-10-01,2026-11-01\n"
    assert with_september(keeper, new) == {"F10": Decimal(310)}
    old = "profiler,flat,31,month,USD,2026-09-01,2026-11-01\n"
    assert with_september(keeper, old) == {}
    renewed = "profiler,flat,310,term,USD,2026-09-01,2026-10-01\nProfiler,flat,310,term,USD,2026-10-01,2026-11-01\n"
    assert with_september(keeper, renewed) == {}
    trial = "profiler,flat,0,term,USD,2026-09-01,2026-10-01\nprofiler,flat,310,term,USD,2026-10-01,2026-11-01\n"
    assert with_september(keeper, trial) == {"F10": Decimal(310)}


def test_without_a_previous_book_a_license_from_the_first_is_not_new(keeper: Bookkeeper) -> None:
    first = "profiler,flat,310,term,USD,2026-10-01,2026-11-01\n"
    assert at_stake(with_ledger(keeper, "licenses", LICENSES + first)) == {}
    later = "profiler,flat,310,term,USD,2026-10-11,2026-11-01\n"
    assert at_stake(with_ledger(keeper, "licenses", LICENSES + later)) == {"F10": Decimal(310)}
