"""Random histories of closed months: every book has the shares, and the finding the amount, that the model has."""

import random
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from trainfare.engine.choice import embedded
from trainfare.period import Month
from trainfare.query.open_books import select_of

from . import adjustment_model
from .adjustment_model import UNIT, Model, Records
from .folder import Workspace
from .test_adjusted_payers import BILL, OUTSIDE, SETTINGS

MONTHS = tuple(Month(2026, number) for number in (8, 9, 10, 11))
MACHINES = ("m1", "m2")


def hours(month: Month, machine: str, hour: int) -> tuple[str, str]:
    day, at = hour // 24 + 1, hour % 24
    end_day, end = (hour + 1) // 24 + 1, (hour + 1) % 24
    return f"{month}-{day:02}T{at:02}:00:00Z", f"{month}-{end_day:02}T{end:02}:00:00Z"


def write(workspace: Workspace, model: Model) -> None:
    """Write bills, job logs and settings as the model has them."""
    for month in map(Month.parse, model.records):
        records = model.records[str(month)]
        period = f"{month}-01T00:00:00Z,{month.next()}-01T00:00:00Z"
        rows = [
            f"USD,{','.join(hours(month, machine, hour))},{period},{cost},{cost},Usage,Compute,VM,{machine},"
            for (machine, hour), units in records.hours.items()
            for cost in [f"{adjustment_model.money(units):f}"]
        ]
        if records.tax:
            tax = f"{adjustment_model.money(records.tax):f}"
            rows.append(f"USD,{period},{period},{tax},{tax},Tax,Other,Tax,,")
        workspace.write(f"bills/{month}.csv", "\n".join([BILL, *rows, ""]))
        held = [
            f"{job},1,{machine},{','.join(hours(month, machine, hour))},1,completed,"
            for (machine, hour), job in records.holders.items()
        ]
        header = "job_id,attempt,machine_id,started,ended,gpus,state,team"
        workspace.write(f"jobs/{month}.csv", "\n".join([header, *held, ""]))
    workspace.write("machines.csv", "machine_id,gpus\n" + "".join(f"{machine},1\n" for machine in MACHINES))
    machines = '\n[[source]]\nname = "machines"\npath = "machines.csv"\n'
    workspace.write("trainfare.toml", SETTINGS + machines + (OUTSIDE if model.is_outside else ""))


def some_records(chance: random.Random) -> Records:
    records = Records()
    for machine in MACHINES:
        for hour in chance.sample((0, 1, 22, 23, 24, 30), 4):
            # Repeated prices make ties, which the smallest payer wins.
            records.hours[machine, hour] = chance.choice((UNIT, UNIT, 3 * UNIT + 1, chance.randrange(1, 9 * UNIT)))
            if chance.random() < 0.8:
                records.holders[machine, hour] = chance.choice("abc")
    records.tax = chance.choice((0, 5 * UNIT, chance.randrange(1, UNIT)))
    return records


def change(chance: random.Random, model: Model) -> str:
    """Change one thing, mostly of a closed month; return what."""
    month = chance.choice([*3 * list(model.closed), model.open_months()[0]])
    records = model.records[month]
    what = chance.choice(("price", "price", "price", "tax", "tax", "rename", "gone", "rule"))
    if what == "price":
        records.hours[chance.choice(list(records.hours))] = chance.randrange(1, 9 * UNIT)
    elif what == "tax":
        records.tax = chance.choice((0, chance.randrange(1, 7 * UNIT)))
    elif what == "rename" and records.holders:
        old, new = chance.choice(list(records.holders.values())), chance.choice("abz")
        records.holders = {key: new if job == old else job for key, job in records.holders.items()}
    elif what == "gone" and len(records.holders) > 1:
        del records.holders[chance.choice(list(records.holders))]
    elif what == "rule":
        model.is_outside = not model.is_outside
    return f"{what} of {month}"


def found_shares(workspace: Workspace, month: str) -> dict[str, adjustment_model.Shares]:
    """The shares of a book, by the closed month that they adjust; its own are under ''."""
    with workspace.open() as store, embedded() as engine:
        book = store.catalog.latest(Month.parse(month))
        assert book
        rows = engine.rows(
            "SELECT regexp_extract(source, ' adjusting (.*)$', 1), payer, machine_id, CAST(day AS VARCHAR), category, "
            f"sum(effective), sum(billed) FROM ({select_of(store.files(book), 'shares')}) GROUP BY ALL"
        )
    found: dict[str, adjustment_model.Shares] = {}
    for adjusts, payer, machine, day, category, effective, billed in rows:
        assert effective == billed
        if effective:
            found.setdefault(adjusts, {})[payer, machine, day, category] = int(effective * UNIT)
    return found


def found_moved(workspace: Workspace, month: str) -> Decimal:
    with workspace.open() as store, embedded() as engine:
        select = select_of(store.files(store.catalog.latest(Month.parse(month))), "findings")
        rows = engine.rows(f"SELECT at_stake FROM ({select}) WHERE code = 'CLOSED_MONTH_CHANGED'")
    return sum((amount for (amount,) in rows), Decimal())


def require_same(workspace: Workspace, model: Model, history: list[str]) -> None:
    month = model.open_months()[0]
    expected = {adjusted: shares for adjusted, shares in model.adjustments.items() if shares}
    if own := model.own(month):
        expected[""] = own
    assert found_shares(workspace, month) == expected, history
    assert found_moved(workspace, month) == adjustment_model.money(sum(model.moved.values())), history


def require_explained(workspace: Workspace, model: Model, chance: random.Random, history: list[str]) -> None:
    """Explain a job of an adjustment: its lines add up to what it pays in the open month."""
    month = model.open_months()[0]
    paid: Counter[str] = Counter()
    for shares in (*model.adjustments.values(), model.own(month)):
        for (payer, *_), units in shares.items():
            paid[payer] += units
    adjusted = {payer for shares in model.adjustments.values() for payer, *_ in shares if not payer.startswith("__")}
    if adjusted:
        job = chance.choice(sorted(adjusted))
        ran = workspace.run("explain", job.removesuffix("#1"), "--month", month, "--format", "json")
        assert ran.code == 0, (history, ran.err)
        assert f'"explained": "{adjustment_model.money(paid[job]):f}' in ran.out.replace("E-", "e-"), (history, ran.out)


def play(seed: int, folder: Path, steps: int) -> int:
    """Play a random history; return how many adjustments there were."""
    chance = random.Random(seed)
    model, workspace = Model({str(month): some_records(chance) for month in MONTHS}), Workspace(folder)
    write(workspace, model)
    workspace.build()
    model.build()
    history, adjustments = [f"seed {seed}"], 0
    workspace.close(Month.parse(model.close()))
    for _ in range(steps):
        if len(model.open_months()) > 1 and chance.random() < 0.25:
            history.append(f"close {model.open_months()[0]}")
            workspace.close(Month.parse(model.close()))
        elif len(model.closed) > 1 and chance.random() < 0.25:
            history.append(f"reopen {max(model.closed)}")
            assert workspace.run("reopen", model.reopen(), "--note", "a rule").code == 0
        else:
            history.append(change(chance, model))
        write(workspace, model)
        workspace.build()
        model.build()
        require_same(workspace, model, history)
        adjustments += len(model.adjustments)
    require_explained(workspace, model, chance, history)
    workspace.require_sound()
    return adjustments


@pytest.mark.parametrize("seed", [3, 4])
def test_a_random_history_of_closed_months_has_the_models_shares(tmp_path: Path, seed: int) -> None:
    assert play(seed, tmp_path, steps=6)


@pytest.mark.soak
def test_many_random_histories_of_closed_months_have_the_models_shares(tmp_path: Path) -> None:
    first = random.SystemRandom().randrange(10**9)
    print(f"seeds from {first}")
    assert sum(play(seed, tmp_path / str(seed), steps=12) for seed in range(first, first + 40))
