"""Each failure mode is found where it occurs, with the cost at stake, and not in a similar month without it."""

import tomllib
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

import pytest

from .books import (
    BILL,
    DAY,
    HOUR,
    JOBS,
    Account,
    Bookkeeper,
    Case,
    charge,
    hours_of,
    measured,
    placement,
    stamp,
    with_settings,
    write_rows,
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


def at_stake(account: Account) -> dict[str, Decimal]:
    return dict(account.opened.engine.rows("SELECT code, at_stake FROM failure_modes WHERE at_stake <> 0"))


def evidence(account: Account, code: str) -> list[str]:
    return [
        text
        for (text,) in account.opened.engine.rows(
            f"SELECT evidence FROM failure_mode_evidence WHERE code = '{code}' ORDER BY 1"
        )
    ]


SOUND = Case(month_of("n1"), busy("n1"), [machine("n1")])


def test_a_sound_month_has_no_failure_mode(keeper: Bookkeeper) -> None:
    account = keeper.book(SOUND)
    assert at_stake(account) == {}
    assert account.owed() == {"job-n1": Decimal(744)}


STORAGE = {"ServiceCategory": "Storage", "ServiceName": "Blob store", "SubAccountId": "A-1"}


def test_unallocated_cost_is_found_with_settings_that_would_allocate_it(keeper: Bookkeeper) -> None:
    """Half of the storage has a tag under an unmapped name; the other half has none."""
    squads = [charge(day, "1", Tags='{"Squad": "NLP"}', **STORAGE) for day in EVERY_DAY]
    bare = [charge(day, "1", **STORAGE) for day in EVERY_DAY]
    account = keeper.book(Case([*SOUND.charges, *squads, *bare], SOUND.placements, SOUND.machines))
    assert at_stake(account) == {"F1": Decimal(62)}
    (fixes,) = account.opened.engine.row("SELECT fixes FROM failure_modes")
    labels, rule = fixes.split("\n\n")
    assert labels == '[labels]\n# would allocate 31.00 USD\nteam = ["team", "Team", "TEAM", "Squad"]'
    assert rule.startswith("# would allocate 31.00 USD\n[[rule]]\n")
    fixed = keeper.book(Case([*SOUND.charges, *squads, *bare], SOUND.placements, SOUND.machines, fixes))
    assert at_stake(fixed) == {}
    assert fixed.owed() == {"job-n1": Decimal(744 + 62)}


def test_suggested_settings_keep_what_is_mapped_and_are_one_valid_text(keeper: Bookkeeper) -> None:
    """Two unmapped tags of one label, one of another, a mapped one, and two services without tags."""
    tags = ('{"Squad": "NLP"}', '{"crew": "nlp"}', '{"Initiative": "atlas"}', '{"group": "nlp"}')
    tagged = [charge(day, "1", Tags=one, **STORAGE) for day in EVERY_DAY for one in tags]
    bare = [
        charge(day, "1", **(STORAGE | {"ServiceName": name}))
        for day in EVERY_DAY
        for name in ('Disk "fast" \\ large', "Tape")
    ]
    case = Case([*SOUND.charges, *tagged, *bare], SOUND.placements, SOUND.machines, '[labels]\nteam = ["group"]\n')
    account = keeper.book(case)
    assert at_stake(account) == {"F1": Decimal(5 * 31)}
    (fixes,) = account.opened.engine.row("SELECT fixes FROM failure_modes")
    suggested = tomllib.loads(fixes)
    assert suggested["labels"] == {
        "team": ["group", "Squad", "crew"],
        "project": ["project", "Project", "PROJECT", "Initiative"],
    }
    assert {one["match"]["service"] for one in suggested["rule"]} == {'Disk "fast" \\ large', "Tape"}
    fixed = keeper.book(replace(case, settings=fixes))
    assert at_stake(fixed) == {}


def test_jobs_without_an_owner_are_found(keeper: Bookkeeper) -> None:
    case = Case(
        [*month_of("n1"), *month_of("n2", "2")], [*busy("n1"), *busy("n2", owner="")], [machine("n1"), machine("n2")]
    )
    account = keeper.book(case)
    assert at_stake(account) == {"F1-OWNERS": Decimal(62)}
    assert evidence(account, "F1-OWNERS") == ["team nlp, project atlas: 1 job without an owner"]
    assert account.opened.engine.row("SELECT total FROM failure_modes") == (Decimal(744 + 62),)


def with_second_log(keeper: Bookkeeper, case: Case, rows: list) -> Account:
    """Book a case with these rows in a job log of their own."""
    folder = keeper.write(case)
    write_rows(folder / "second.csv", JOBS, rows)
    return keeper.account(with_settings(folder, ["bill.csv", "jobs.csv", "second.csv", "machines.csv"]))


def test_a_run_under_two_names_is_found(keeper: Bookkeeper) -> None:
    """The cost of the copy is at stake: half, since both count as holding the whole machine."""
    account = with_second_log(keeper, SOUND, [dict(SOUND.placements[0]) | {"job_id": "slurm-77"}])
    assert at_stake(account) == {"F5": Decimal(372)}
    assert evidence(account, "F5") == ["run slurm-77 is job-n1 under another name, from 2026-10-01 00:00:00"]


def with_second_bill(keeper: Bookkeeper, rows: list) -> Account:
    """Book the sound month with a second bill of these lines."""
    folder = keeper.write(SOUND)
    write_rows(folder / "second.csv", BILL, rows)
    sources = "".join(f"\n[[source]]\npath = '{name}'\n" for name in ("jobs.csv", "machines.csv"))
    bills = "[[source]]\nname = 'cloud'\npath = 'bill.csv'\n[[source]]\nname = 'cloud'\npath = 'second.csv'\n"
    (folder / "trainfare.toml").write_text(bills + sources, encoding="utf-8")
    return keeper.account(folder)


def test_an_export_delivered_twice_is_found_in_any_line_order(keeper: Bookkeeper) -> None:
    account = with_second_bill(keeper, [*reversed(SOUND.charges)][:10])
    assert at_stake(account) == {"F5": Decimal(240)}
    assert evidence(account, "F5")[0] == "source cloud, account A-1, 2026-10-22: 1 line is in 2 files"


def test_a_second_export_of_other_lines_is_not_a_copy(keeper: Bookkeeper) -> None:
    """The same cost on the same days, but for something else."""
    assert at_stake(with_second_bill(keeper, month_of("n1", ChargeDescription="snapshots"))) == {}


def test_a_machine_on_two_bills_is_found(keeper: Bookkeeper) -> None:
    folder = keeper.write(SOUND)
    text = (folder / "bill.csv").read_text(encoding="utf-8").replace(",24,24,24,24", ",26,26,26,26")
    (folder / "reseller.csv").write_text(text, encoding="utf-8")
    account = keeper.account(with_settings(folder, ["bill.csv", "reseller.csv", "jobs.csv", "machines.csv"]))
    assert at_stake(account) == {"F5": Decimal(744)}
    assert evidence(account, "F5") == ["machine n1 is on the bills bill, reseller"]


def covered(name: str, money: str, days: list[tuple[int, int]]) -> list:
    plan = {"CommitmentDiscountId": "plan-1", "CommitmentDiscountStatus": "Used"}
    amounts = {"effective": money, "billed": "0", "list": "40", "contracted": "40"}
    return [hours_of(name, day, amounts, **plan) for day in days]


def test_a_commitment_amortized_over_the_wrong_term_is_found(keeper: Bookkeeper) -> None:
    """From the 21st on the payment is amortized over a third of its term: 72 a day instead of 24."""
    steps = [*covered("n1", "24", EVERY_DAY[:20]), *covered("n1", "72", EVERY_DAY[20:])]
    account = keeper.book(Case(steps, SOUND.placements, SOUND.machines))
    assert at_stake(account) == {"F6": Decimal(11 * 48)}
    assert evidence(account, "F6")[0] == "commitment plan-1 on 2026-10-21: 72.000000 instead of 24.000000"
    level = keeper.book(Case(covered("n1", "24", EVERY_DAY), SOUND.placements, SOUND.machines))
    assert at_stake(level) == {}


def test_machines_that_start_in_a_burst_and_stay_idle_are_found(keeper: Bookkeeper) -> None:
    """Five machines for ten hours, of which one had a job for one hour."""
    since = 4 * DAY
    names = [f"b{number}" for number in range(5)]
    lines = [hours_of(name, (since + h * HOUR, since + (h + 1) * HOUR), "1") for name in names for h in range(10)]
    burst = [machine(name, since + 60 * index, since + 10 * HOUR) for index, name in enumerate(names)]
    job = placement("late", "b0", (since + HOUR, since + 2 * HOUR), gpus=GPUS, owner="ana")
    case = Case([*SOUND.charges, *lines], [*SOUND.placements, job], [*SOUND.machines, *burst])
    account = keeper.book(case)
    assert at_stake(account) == {"F7": Decimal(49)}
    assert evidence(account, "F7") == ["pool h100: 5 idle machines from 2026-10-05 00:00:00, such as b0"]
    few = Case([*SOUND.charges, *lines[:30]], SOUND.placements, [*SOUND.machines, *burst[:3]])
    assert at_stake(keeper.book(few)) == {}, "three machines are not a burst"


@pytest.mark.parametrize(("billed_days", "expected"), [(21, {"F8": Decimal(240 + 30)}), (31, {})])
def test_a_bill_that_ends_before_the_job_log_is_found(
    keeper: Bookkeeper, billed_days: int, expected: dict[str, Decimal]
) -> None:
    """A day of the machine is 24, a day of tagged storage 3; ten days are missing."""
    stored = [charge(day, "3", Tags='{"team": "nlp"}', **STORAGE) for day in EVERY_DAY[:billed_days]]
    lines = [*month_of("n1", days=EVERY_DAY[:billed_days]), *stored]
    assert at_stake(keeper.book(Case(lines, SOUND.placements, SOUND.machines))) == expected


def test_a_machine_that_no_longer_exists_is_not_delayed(keeper: Bookkeeper) -> None:
    """Another machine of its account is billed to the end."""
    lines = [*SOUND.charges, *month_of("n2", days=EVERY_DAY[:5])]
    held = [*SOUND.placements, placement("short", "n2", (0, 5 * DAY), gpus=GPUS, owner="ana")]
    assert at_stake(keeper.book(Case(lines, held, [*SOUND.machines, machine("n2", 0, 5 * DAY)]))) == {}


def test_work_lost_to_preempted_spot_machines_is_found(keeper: Bookkeeper) -> None:
    """The first attempt saved after 20 of 24 hours; the second takes two hours to start training. A day costs 24."""
    first = placement("a", "n1", (0, DAY), gpus=GPUS, owner="ana", team="nlp", project="atlas", state="preempted")
    second = placement("a", "n1", (DAY, 31 * DAY), gpus=GPUS, owner="ana", team="nlp", project="atlas", attempt=2)
    measurements = [
        measured("a", (0, DAY), "step", 240),
        measured("a", (19 * HOUR, 20 * HOUR), "checkpoint", 190),
        measured("a", (DAY + 2 * HOUR, 31 * DAY), "step", 5000, attempt=2),
    ]
    spot = month_of("n1", PricingCategory="Dynamic")
    account = keeper.book(Case(spot, [first, second], SOUND.machines, measured=measurements))
    assert at_stake(account) == {"F2": Decimal(4 + 2)}
    assert evidence(account, "F2") == ["team nlp, project atlas: 1 attempt was preempted"]
    assert account.opened.engine.row("SELECT total FROM failure_modes") == (Decimal(744),)
    failed = keeper.book(Case(spot, [first | {"state": "failed"}, second], SOUND.machines, measured=measurements))
    assert at_stake(failed) == {}, "a program that fails by itself was not preempted"


def test_sending_data_to_another_region_is_found(keeper: Bookkeeper) -> None:
    """Bytes within a region cost nothing, so all of the job's network cost, 40, is for those that left it."""
    network = {"ServiceCategory": "Networking", "ServiceName": "Data Transfer", "Tags": '{"job_id": "job-n1"}'}
    measurements = [
        measured("job-n1", (0, DAY), "bytes_sent", 300, from_region="eu", to_region="us"),
        measured("job-n1", (0, DAY), "bytes_sent", 100, from_region="eu", to_region="eu"),
    ]
    lines = [*SOUND.charges, charge((0, DAY), "40", **network)]
    account = keeper.book(Case(lines, SOUND.placements, SOUND.machines, measured=measurements))
    assert at_stake(account) == {"F3": Decimal(40)}
    assert evidence(account, "F3") == ["from eu to us: 1 job"]


def test_storage_cost_beyond_the_reported_requests_is_found(keeper: Bookkeeper) -> None:
    """A thousand requests a day cost 1; from the 25th on they cost 5, while jobs report the same number."""
    measurements = [measured("job-n1", day, "storage_requests", 1000) for day in EVERY_DAY]
    stored = [
        charge(day, "5" if number >= 24 else "1", Tags='{"team": "nlp"}', **STORAGE)
        for number, day in enumerate(EVERY_DAY)
    ]
    account = keeper.book(Case([*SOUND.charges, *stored], SOUND.placements, SOUND.machines, measured=measurements))
    assert at_stake(account) == {"F4": Decimal(7 * 4)}
    more = [
        measured("job-n1", day, "storage_requests", 5000 if number >= 24 else 1000)
        for number, day in enumerate(EVERY_DAY)
    ]
    explained = keeper.book(Case([*SOUND.charges, *stored], SOUND.placements, SOUND.machines, measured=more))
    assert at_stake(explained) == {}


def with_ledger(keeper: Bookkeeper, name: str, text: str) -> Account:
    folder = keeper.write(SOUND)
    (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return keeper.account(with_settings(folder, ["bill.csv", "jobs.csv", "machines.csv", f"{name}.csv"]))


def test_implausible_time_entries_are_found(keeper: Bookkeeper) -> None:
    """Two hours for a project without jobs, and 15 hours on one day: at 10 an hour, 20 and 30 are at stake."""
    entries = (
        "day,person,hours,rate,currency,project\n"
        "2026-10-05,ana,2,10,USD,perseus\n2026-10-06,ben,9,10,USD,atlas\n2026-10-06,ben,6,10,USD,Atlas\n"
        "2026-10-07,ben,12,10,USD,atlas\n"
    )
    account = with_ledger(keeper, "labor", entries)
    assert at_stake(account) == {"F9": Decimal(50)}
    assert evidence(account, "F9") == [
        "ben on 2026-10-06: 15.000000 hours",
        "project perseus has no jobs: 1 entry of 1 person",
    ]


def test_licenses_that_start_within_the_month_are_found(keeper: Bookkeeper) -> None:
    header = "license,per,price,every,currency,started,ended\n"
    old = "compiler,flat,31,month,USD,2026-01-01,2026-11-01\n"
    assert at_stake(with_ledger(keeper, "licenses", header + old)) == {}
    new = "profiler,flat,93,term,USD,2026-10-12,2026-11-01\n"
    account = with_ledger(keeper, "licenses", header + old + new)
    assert at_stake(account) == {"F10": Decimal(93)}
    assert evidence(account, "F10") == ["source licenses, profiler (per flat): from 2026-10-12"]
