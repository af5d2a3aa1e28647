"""Random histories of jobs: what the account says was kept, lost or overhead is what a model in plain Python says."""

from collections import Counter
from decimal import Decimal
from random import Random

import pytest

from trainfare.money import amount
from trainfare.query import metrics
from trainfare.query.cost import Question

from . import lost_work_model as model
from .books import DAY, HOUR, MONTH, START, Account, Bookkeeper, Case, charge, hours_of, measured, placement
from .lost_work_model import Attempt, Charge, Hold, Model, World

RULES = """
[[rule]]
name = "named jobs"
match = { category = "storage" }
among = "job"
by = "gpu_seconds"
[[rule]]
name = "everyone"
match = { category = "network" }
among = "all"
by = "evenly"
"""
SERVICES = {
    "job": {"ServiceCategory": "Storage", "ServiceName": "Object Storage"},
    "evenly": {"ServiceCategory": "Networking", "ServiceName": "Data Transfer"},
    "spend": {"ChargeCategory": "Tax"},
}
STATES = ("preempted", "preempted", "failed", "canceled", "completed", "node_failed")
SEEN: Counter[str] = Counter()
PHASES = {"unsaved": model.UNSAVED, "restart": model.RESTART, "start": model.START, "checkpoint": model.CHECKPOINT}


def history(rng: Random, job: str, machines: list[str], gpus: int) -> list[Attempt]:
    """Attempts one after the other, with gaps, on one or two machines, resumed from any checkpoint or none."""
    attempts: list[Attempt] = []
    at, saved = rng.choice([0, rng.randint(0, 20 * HOUR)]), [0]
    kind = rng.choice(["steps", "steps", "no steps", "no checkpoints"])
    for number in range(1, rng.randint(1, 4) + 1):
        attempt = Attempt(job, number, rng.choice(STATES))
        end = at + rng.choice([rng.randint(1, 5) * HOUR, rng.randint(60, 9 * HOUR)])
        first = rng.choice(machines)
        attempt.holds.append(Hold(first, (at, end), gpus))
        if rng.random() < 0.4:  # a gap: held again later
            later = end + rng.randint(1, 3 * HOUR)
            attempt.holds.append(Hold(first, (later, later + rng.randint(60, 4 * HOUR)), gpus))
        others = [name for name in machines if name != first]
        if rng.random() < 0.4:
            attempt.holds.append(Hold(rng.choice(others), (at, at + rng.randint(60, end - at)), gpus))
        if kind != "no checkpoints":
            train(rng, attempt, saved, kind == "steps" and rng.random() < 0.9)
        attempts.append(attempt)
        at = attempt.span[1] + rng.choice([0, rng.randint(0, HOUR)])
    return attempts


def train(rng: Random, attempt: Attempt, saved: list[int], has_steps: bool) -> None:
    """Train from one of the saved steps, and save: twice, overlapping, at the very start or end, or too late."""
    first, last = attempt.span
    step = rng.choice([saved[-1], saved[-1], *saved])
    start = min(first + rng.choice([0, rng.randint(0, HOUR)]), last)
    if has_steps:
        attempt.steps.append(((start, last), step + rng.choice([1, 1, 50])))
    for _ in range(rng.randint(0, 4)):
        step += rng.choice([0, 100, 100])
        begun = rng.choice([start, last, rng.randint(start, last), rng.randint(start, last)])
        attempt.checkpoints.append(((begun, begun + rng.choice([0, 30, rng.randint(0, HOUR)])), step))
        saved.append(step)


def world(seed: int) -> World:
    rng = Random(seed)
    machines = {"m1": 8, "m2": 8, "m3": 8}
    jobs = {job: history(rng, job, list(machines), gpus) for job, gpus in (("a", 4), ("b", 3), ("c", 1))}
    last = max(attempt.span[1] for job in jobs.values() for attempt in job) // HOUR + 1
    charges = []
    for name in machines:
        length = rng.choice([1, 1, 2, 7]) * HOUR  # hourly and longer charges, with a price of their own each
        charges += [
            Charge("machine", name, (at, at + length), rng.randint(1, 9 * 10**12))
            for at in range(0, last * HOUR, length)
            if rng.random() < 0.9
        ]
        charges.append(Charge("machine", name, (0, rng.randint(1, 2) * DAY + 1), -rng.randint(1, 10**12)))
    charges += [
        Charge("job", job, (at, at + rng.randint(1, DAY)), rng.randint(1, 10**13))
        for job, at in (("a", rng.randint(0, DAY)), ("b", 20 * DAY))
    ]
    charges.append(Charge("evenly", "", (0, rng.randint(1, 2 * DAY)), rng.randint(1, 10**13)))
    charges.append(Charge("spend", "", (0, MONTH), rng.randint(1, 10**13)))
    return World(jobs, machines, charges)


def case_of(world: World) -> Case:
    rows = []
    for one in world.charges:
        money = f"{amount(one.units):f}"
        tags = {"Tags": f'{{"job_id": "{one.name}"}}'} if one.scope == "job" else {}
        is_machine = one.scope == "machine"
        rows.append(
            hours_of(one.name, one.span, money)
            if is_machine
            else charge(one.span, money, **SERVICES[one.scope], **tags)
        )
    placements, measurements = [], []
    for attempt in world.attempts:
        of_attempt = {"attempt": attempt.number}
        columns = of_attempt | {"state": attempt.state}
        placements += [
            placement(attempt.job, hold.machine, hold.span, gpus=hold.gpus, **columns) for hold in attempt.holds
        ]
        for name, many in (("checkpoint", attempt.checkpoints), ("step", attempt.steps)):
            measurements += [measured(attempt.job, span, name, step, **of_attempt) for span, step in many]
    machines = [{"machine_id": name, "gpus": gpus} for name, gpus in world.machines.items()]
    return Case(rows, placements, machines, RULES, measurements)


FIRST_DAY = f"DATE '{START.date()}'"
NUMBER = "SELECT job_id, attempt, row_number() OVER (ORDER BY job_id, attempt) - 1 AS number FROM book_attempts"


def money_of(account: Account, table: str, phase: str) -> dict[tuple, int]:
    """Whole units by attempt, machine, day and phase."""
    rows = account.opened.engine.rows(
        f"SELECT n.number, s.machine_id, s.day - {FIRST_DAY}, {phase}, sum(s.effective) "
        f"FROM {table} s JOIN ({NUMBER}) n ON n.job_id = s.job_id AND n.attempt = s.attempt GROUP BY ALL"
    )
    return {tuple(key): int(money.scaleb(12)) for *key, money in rows if money}


def seconds_of(account: Account) -> dict[tuple[int, int, str], int]:
    """GPU seconds held in each part that is not kept work, by attempt and day."""
    rows = account.opened.engine.rows(
        "WITH days AS (SELECT unnest(range(0, 31)) AS day), spans AS ("
        f"SELECT n.number, d.day, w.part, p.gpu_micros, least(w.ends, p.ends, {int(START.timestamp())} + d.day * 86400 "
        f"+ 86400) - greatest(w.starts, p.starts, {int(START.timestamp())} + d.day * 86400) AS seconds "
        "FROM book_work w JOIN book_placements p ON p.job_id = w.job_id AND p.attempt = w.attempt "
        f"JOIN ({NUMBER}) n ON n.job_id = w.job_id AND n.attempt = w.attempt, days d) "
        "SELECT number, day, part, sum(seconds * gpu_micros) // 1000000 FROM spans WHERE seconds > 0 GROUP BY ALL"
    )
    return {(number, day, part): int(seconds) for number, day, part, seconds in rows}


def require_the_models_answer(account: Account, modeled: Model) -> None:
    paid, parts = modeled.money()
    attempts = range(len(modeled.world.attempts))
    assert money_of(account, "shares", "0") == {
        (*key, 0): units for key, units in paid.items() if units and key[0] in attempts
    }
    names = {number: name for name, number in PHASES.items()}
    expected = {(*key, names[phase]): units for (*key, phase), units in parts.items() if units and phase}
    assert money_of(account, "work", "s.phase") == expected
    seconds: Counter[tuple[int, int, str]] = Counter()
    kept: Counter[str] = Counter()
    for (number, day, phase), held in modeled.seconds().items():
        if phase == model.KEPT or model.PARTS[phase] == "overhead":
            kept[modeled.world.attempts[number].job] += held
        if phase != model.KEPT:
            seconds[number, day, model.PARTS[phase]] += held
    assert seconds_of(account) == dict(seconds)
    rows = account.rows("job", per="productive", productive="not_lost")
    assert {job: row.gpu_seconds or 0 for job, row in rows.items()} == {job: kept[job] for job in rows}
    require_metrics(account, modeled, expected)


def require_metrics(account: Account, modeled: Model, expected: dict[tuple, int]) -> None:
    """M5 says the same of each job."""
    sums: Counter[tuple[str, str]] = Counter()
    for (number, *_, phase), units in expected.items():
        sums[modeled.world.attempts[number].job, model.PARTS[PHASES[phase]]] += units
    for value in metrics.metric_values(account.opened, Question(["job"]), ["M5"]):
        assert value.numerator == amount(sums[value.group["job"], value.detail])
    SEEN.update(phase for *_, phase in expected)
    resumes = [
        (attempts, model.resumed(attempts, index), index)
        for attempts in modeled.world.jobs.values()
        for index in range(1, len(attempts))
        if any(one.finished for one in attempts)
    ]
    for attempts, back, index in resumes:
        newest = max(
            (one for by in range(index) for one in attempts[by].finished), key=lambda one: one[0][1], default=None
        )
        SEEN[
            "started over"
            if back is None
            else "resumed from an older one"
            if newest and back[1] < newest[0][1]
            else "resumed"
        ] += 1


@pytest.mark.parametrize("seed", range(20))
def test_every_attempt_and_day_has_the_models_parts(keeper: Bookkeeper, seed: int) -> None:
    made = world(seed)
    require_the_models_answer(keeper.book(case_of(made)), Model(made))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 500))
def test_many_more_histories(keeper: Bookkeeper, seed: int) -> None:
    made = world(seed)
    require_the_models_answer(keeper.book(case_of(made)), Model(made))


def test_the_histories_had_every_phase_and_every_way_to_resume() -> None:
    assert {*PHASES, "resumed", "resumed from an older one", "started over"} <= set(SEEN)
    assert min(SEEN.values()) > 2


def test_the_model_gives_the_figures_worked_out_by_hand() -> None:
    """Saved 100 at 1 h and 200 at 2 h, failed at 3 h, resumed from 101: the last two hours of the first are lost."""
    first = Attempt(
        "a", 1, "failed", [Hold("m", (0, 3 * HOUR), 4)], [((3600, 3600), 100), ((7200, 7200), 200)], [((0, 1), 1)]
    )
    second = Attempt("a", 2, "completed", [Hold("m", (3 * HOUR, 4 * HOUR), 4)], [], [((3 * HOUR, 4 * HOUR), 101)])
    charges = [Charge("machine", "m", (hour * HOUR, (hour + 1) * HOUR), 10**12) for hour in range(4)]
    _, parts = Model(World({"a": [first, second]}, {"m": 4}, charges)).money()
    assert {key: Decimal(units).scaleb(-12) for key, units in parts.items() if units} == {
        (0, "m", 0, model.KEPT): 1,
        (0, "m", 0, model.UNSAVED): 2,
        (1, "m", 0, model.KEPT): 1,
    }
