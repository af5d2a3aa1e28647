"""Each failure mode shows where it is, with the money it puts at stake, and not in the month beside it that is sound."""

import csv
from collections.abc import Iterable
from decimal import Decimal

import pytest

from .books import (
    BILL,
    DAY,
    HOUR,
    Account,
    Bookkeeper,
    Case,
    charge,
    hours_of,
    measured,
    placement,
    stamp,
    with_settings,
)

GPUS = 8
EVERY_DAY = [(day * DAY, (day + 1) * DAY) for day in range(31)]


def machine(name: str, since: int = -DAY, until: int | None = None) -> dict[str, object]:
    return {
        "machine_id": name,
        "resource_id": name,
        "gpus": GPUS,
        "pool": "h100",
        "account": "A-1",
        "existed_from": stamp(since),
        "existed_to": stamp(until),
    }


def month_of(name: str, money: str = "24", days: Iterable[tuple[int, int]] = EVERY_DAY, **columns: object) -> list:
    return [hours_of(name, day, money, **columns) for day in days]


def busy(*names: str, owner: str = "ana") -> list:
    """One job on each machine, all month."""
    return [
        placement(f"job-{name}", name, (0, 31 * DAY), gpus=GPUS, owner=owner, team="nlp", project="atlas")
        for name in names
    ]


def failures(account: Account) -> dict[str, Decimal]:
    return dict(account.opened.engine.rows("SELECT code, at_stake FROM failures WHERE at_stake <> 0"))


def evidence(account: Account, code: str) -> list[str]:
    return [
        told
        for (told,) in account.opened.engine.rows(f"SELECT evidence FROM failure_rows WHERE code = '{code}' ORDER BY 1")
    ]


SOUND = Case(month_of("n1"), busy("n1"), [machine("n1")])


def test_a_sound_month_shows_nothing(keeper: Bookkeeper) -> None:
    account = keeper.book(SOUND)
    assert failures(account) == {}
    assert account.owed() == {"job-n1": Decimal(744)}


STORAGE = {"ServiceCategory": "Storage", "ServiceName": "Blob store", "SubAccountId": "A-1"}


def test_cost_without_a_payer_is_found_with_settings_that_would_give_it_one(keeper: Bookkeeper) -> None:
    """Half of the storage has a tag under a name of its own; the other half has none."""
    squads = [charge(day, "1", Tags='{"Squad": "NLP"}', **STORAGE) for day in EVERY_DAY]
    bare = [charge(day, "1", **STORAGE) for day in EVERY_DAY]
    account = keeper.book(Case([*SOUND.charges, *squads, *bare], SOUND.placements, SOUND.machines))
    assert failures(account) == {"F1": Decimal(62)}
    (repairs,) = account.opened.engine.row("SELECT repairs FROM failures")
    labels, rule = repairs.split("\n\n")
    assert labels == '# would give 31.00 USD a payer\n[labels]\nteam = ["team", "Squad"]'
    settings = f"{labels}\n\n{rule}"
    mended = keeper.book(Case([*SOUND.charges, *squads, *bare], SOUND.placements, SOUND.machines, settings))
    assert failures(mended) == {}
    assert mended.owed() == {"job-n1": Decimal(744 + 62)}


def test_jobs_without_an_owner_are_found(keeper: Bookkeeper) -> None:
    case = Case(
        [*month_of("n1"), *month_of("n2", "2")], [*busy("n1"), *busy("n2", owner="")], [machine("n1"), machine("n2")]
    )
    account = keeper.book(case)
    assert failures(account) == {"F1-OWNERS": Decimal(62)}
    assert evidence(account, "F1-OWNERS") == ["team nlp, project atlas: 1 jobs without owner"]
    assert account.opened.engine.row("SELECT whole FROM failures") == (Decimal(744 + 62),)


def test_a_run_under_two_names_is_found(keeper: Bookkeeper) -> None:
    """What the copy was given is at stake: half, as both are believed to hold the whole machine."""
    twice = [*SOUND.placements, dict(SOUND.placements[0]) | {"job_id": "slurm-77"}]
    account = keeper.book(Case(SOUND.charges, twice, SOUND.machines))
    assert failures(account) == {"F5": Decimal(372)}
    assert evidence(account, "F5") == ["run slurm-77 is job-n1 under another name, from 2026-10-01 00:00:00"]


def test_small_jobs_that_a_machine_took_along_are_not_one_job(keeper: Bookkeeper) -> None:
    """Both began when the spot machine came and ended when it went."""
    held = [placement(job, "n1", (0, 31 * DAY), gpus=2, owner="ana", state="preempted") for job in ("left", "right")]
    assert failures(keeper.book(Case(SOUND.charges, held, SOUND.machines))).keys() == {"F2"}


def written_again(keeper: Bookkeeper, rows: list) -> Account:
    """The sound month with a second bill of these lines."""
    folder = keeper.write(SOUND)
    with (folder / "again.csv").open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, BILL, restval="")
        writer.writeheader()
        writer.writerows(rows)
    sources = "".join(f"\n[[source]]\npath = '{name}'\n" for name in ("jobs.csv", "machines.csv"))
    bills = "[[source]]\nname = 'cloud'\npath = 'bill.csv'\n[[source]]\nname = 'cloud'\npath = 'again.csv'\n"
    (folder / "trainfare.toml").write_text(bills + sources, encoding="utf-8")
    return keeper.account(folder)


def test_an_export_delivered_twice_is_found_though_its_lines_stand_otherwise(keeper: Bookkeeper) -> None:
    account = written_again(keeper, [*reversed(SOUND.charges)][:10])
    assert failures(account) == {"F5": Decimal(240)}
    assert evidence(account, "F5")[0] == "source cloud, account A-1, 2026-10-22: 1 lines are in 2 files"


def test_a_second_export_of_other_lines_is_no_copy(keeper: Bookkeeper) -> None:
    """As much money on the same days, but for something else."""
    assert failures(written_again(keeper, month_of("n1", ChargeDescription="snapshots"))) == {}


def test_a_machine_on_two_bills_is_found(keeper: Bookkeeper) -> None:
    folder = keeper.write(SOUND)
    text = (folder / "bill.csv").read_text(encoding="utf-8").replace(",24,24,24,24", ",26,26,26,26")
    (folder / "reseller.csv").write_text(text, encoding="utf-8")
    account = keeper.account(with_settings(folder, ["bill.csv", "reseller.csv", "jobs.csv", "machines.csv"]))
    assert failures(account) == {"F5": Decimal(744)}
    assert evidence(account, "F5") == ["machine n1 is on the bills bill, reseller"]


def covered(name: str, money: str, days: list[tuple[int, int]]) -> list:
    plan = {"CommitmentDiscountId": "plan-1", "CommitmentDiscountStatus": "Used"}
    amounts = {"effective": money, "billed": "0", "list": "40", "contracted": "40"}
    return [hours_of(name, day, amounts, **plan) for day in days]


def test_a_commitment_that_changes_its_price_is_found(keeper: Bookkeeper) -> None:
    """From the 21st on the payment is spread over a third of its term: 72 a day instead of 24."""
    steps = [*covered("n1", "24", EVERY_DAY[:20]), *covered("n1", "72", EVERY_DAY[20:])]
    account = keeper.book(Case(steps, SOUND.placements, SOUND.machines))
    assert failures(account) == {"F6": Decimal(11 * 48)}
    assert evidence(account, "F6")[0] == "commitment plan-1 on 2026-10-21: 72.000000 instead of 24.000000"
    level = keeper.book(Case(covered("n1", "24", EVERY_DAY), SOUND.placements, SOUND.machines))
    assert failures(level) == {}


def test_machines_that_come_in_a_burst_and_find_no_work_are_found(keeper: Bookkeeper) -> None:
    """Five machines for ten hours, of which one had a job for one hour."""
    since = 4 * DAY
    names = [f"b{number}" for number in range(5)]
    lines = [hours_of(name, (since + h * HOUR, since + (h + 1) * HOUR), "1") for name in names for h in range(10)]
    burst = [machine(name, since + 60 * place, since + 10 * HOUR) for place, name in enumerate(names)]
    job = placement("late", "b0", (since + HOUR, since + 2 * HOUR), gpus=GPUS, owner="ana")
    case = Case([*SOUND.charges, *lines], [*SOUND.placements, job], [*SOUND.machines, *burst])
    account = keeper.book(case)
    assert failures(account) == {"F7": Decimal(49)}
    assert evidence(account, "F7") == ["pool h100: 5 machines without work from 2026-10-05 00:00:00, such as b0"]
    few = Case([*SOUND.charges, *lines[:30]], SOUND.placements, [*SOUND.machines, *burst[:3]])
    assert failures(keeper.book(few)) == {}, "three machines are no burst"


@pytest.mark.parametrize(("billed_days", "expected"), [(21, {"F8": Decimal(240 + 30)}), (31, {})])
def test_a_bill_that_ends_before_the_job_log_is_found(
    keeper: Bookkeeper, billed_days: int, expected: dict[str, Decimal]
) -> None:
    """A day of the machine is 24, a day of tagged storage 3; ten days are missing."""
    stored = [charge(day, "3", Tags='{"team": "nlp"}', **STORAGE) for day in EVERY_DAY[:billed_days]]
    lines = [*month_of("n1", days=EVERY_DAY[:billed_days]), *stored]
    assert failures(keeper.book(Case(lines, SOUND.placements, SOUND.machines))) == expected


def test_a_machine_that_has_gone_is_not_waited_for(keeper: Bookkeeper) -> None:
    """Its account is billed through the end by another machine."""
    lines = [*SOUND.charges, *month_of("n2", days=EVERY_DAY[:5])]
    held = [*SOUND.placements, placement("short", "n2", (0, 5 * DAY), gpus=GPUS, owner="ana")]
    assert failures(keeper.book(Case(lines, held, [*SOUND.machines, machine("n2", 0, 5 * DAY)]))) == {}


def test_work_that_spot_machines_took_with_them_is_found(keeper: Bookkeeper) -> None:
    """The first attempt saved after 20 of its 24 hours; the second needs two hours to be where it was. A day is 24."""
    first = placement("a", "n1", (0, DAY), gpus=GPUS, owner="ana", team="nlp", project="atlas", state="preempted")
    second = placement("a", "n1", (DAY, 31 * DAY), gpus=GPUS, owner="ana", team="nlp", project="atlas", attempt=2)
    told = [
        measured("a", (0, DAY), "step", 240),
        measured("a", (19 * HOUR, 20 * HOUR), "checkpoint", 190),
        measured("a", (DAY + 2 * HOUR, 31 * DAY), "step", 5000, attempt=2),
    ]
    account = keeper.book(Case(SOUND.charges, [first, second], SOUND.machines, measured=told))
    assert failures(account) == {"F2": Decimal(4 + 2)}
    assert evidence(account, "F2") == ["team nlp, project atlas: 1 attempts were interrupted"]
    assert account.opened.engine.row("SELECT whole FROM failures") == (Decimal(744),)
    failed = keeper.book(Case(SOUND.charges, [first | {"state": "failed"}, second], SOUND.machines, measured=told))
    assert failures(failed) == {}, "a program that fails by itself is no spot market"


def test_sending_data_to_another_region_is_found(keeper: Bookkeeper) -> None:
    """Three quarters of what the job sent left its region; 40 of network cost were for it."""
    network = {"ServiceCategory": "Networking", "ServiceName": "Data Transfer", "Tags": '{"job_id": "job-n1"}'}
    told = [
        measured("job-n1", (0, DAY), "bytes_sent", 300, from_region="eu", to_region="us"),
        measured("job-n1", (0, DAY), "bytes_sent", 100, from_region="eu", to_region="eu"),
    ]
    lines = [*SOUND.charges, charge((0, DAY), "40", **network)]
    account = keeper.book(Case(lines, SOUND.placements, SOUND.machines, measured=told))
    assert failures(account) == {"F3": Decimal(30)}
    assert evidence(account, "F3") == ["from eu to us: 1 jobs"]


def test_storage_that_is_asked_more_often_than_jobs_report_is_found(keeper: Bookkeeper) -> None:
    """A thousand requests cost 1 a day; from the 25th on they cost 5, and jobs report as many as before."""
    told = [measured("job-n1", day, "storage_requests", 1000) for day in EVERY_DAY]
    stored = [
        charge(day, "5" if number >= 24 else "1", Tags='{"team": "nlp"}', **STORAGE)
        for number, day in enumerate(EVERY_DAY)
    ]
    account = keeper.book(Case([*SOUND.charges, *stored], SOUND.placements, SOUND.machines, measured=told))
    assert failures(account) == {"F4": Decimal(7 * 4)}
    more = [
        measured("job-n1", day, "storage_requests", 5000 if number >= 24 else 1000)
        for number, day in enumerate(EVERY_DAY)
    ]
    explained = keeper.book(Case([*SOUND.charges, *stored], SOUND.placements, SOUND.machines, measured=more))
    assert failures(explained) == {}


def with_ledger(keeper: Bookkeeper, name: str, text: str) -> Account:
    folder = keeper.write(SOUND)
    (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return keeper.account(with_settings(folder, ["bill.csv", "jobs.csv", "machines.csv", f"{name}.csv"]))


def test_time_entries_that_do_not_fit_are_found(keeper: Bookkeeper) -> None:
    """Two hours for a project nobody trains for, and 15 hours on one day: at 10 an hour, 20 and 30 are at stake."""
    entries = (
        "day,person,hours,rate,currency,project\n"
        "2026-10-05,ana,2,10,USD,perseus\n2026-10-06,ben,9,10,USD,atlas\n2026-10-06,ben,6,10,USD,Atlas\n"
        "2026-10-07,ben,12,10,USD,atlas\n"
    )
    account = with_ledger(keeper, "labour", entries)
    assert failures(account) == {"F9": Decimal(50)}
    assert evidence(account, "F9") == [
        "ben on 2026-10-06: 15.000000 hours",
        "project perseus: 1 entries of 1 people, and no job has it",
    ]


def test_licences_that_begin_within_the_month_are_found(keeper: Bookkeeper) -> None:
    header = "licence,per,price,every,currency,started,ended\n"
    old = "compiler,flat,31,month,USD,2026-01-01,2026-11-01\n"
    assert failures(with_ledger(keeper, "licences", header + old)) == {}
    new = "profiler,flat,93,term,USD,2026-10-12,2026-11-01\n"
    account = with_ledger(keeper, "licences", header + old + new)
    assert failures(account) == {"F10": Decimal(93)}
    assert evidence(account, "F10") == ["source licences, profiler (per flat): from 2026-10-12"]
