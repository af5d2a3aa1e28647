"""Late changes of ledgers and bills: adjustments equal the difference between two versions, to the last digit."""

import random
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from . import company
from .company import NOVEMBER, OCTOBER
from .folder import Workspace
from .test_adjustments import restate

LEDGERS = ("labor", "hardware", "invoices", "commitments")


def write_ledgers(workspace: Workspace, seed: int) -> None:
    """Ledgers of four kinds, with different amounts and days for each seed."""
    chance = random.Random(seed)
    money = lambda: f"{chance.randrange(10**9, 10**12)}.{chance.randrange(10**6):06}"  # noqa: E731
    entries = [f"2026-10-{chance.randrange(1, 31):02},ann,{chance.randrange(1, 9)},{money()},USD" for _ in range(5)]
    workspace.write("labor.csv", "\n".join(["day,person,hours,rate,currency", *entries, ""]))
    life = f"2026-0{chance.randrange(1, 9)}-15,{chance.randrange(12, 60)}"
    workspace.write("hardware.csv", f"machine_id,price,currency,in_service,life_months\nown-1,{money()},USD,{life}\n")
    term = f"2026-10-{chance.randrange(1, 20):02},2026-12-{chance.randrange(1, 20):02}"
    workspace.write("invoices.csv", f"vendor,amount,currency,started,ended\nACME,{money()},USD,{term}\n")
    terms = f"USD,2026-09-{chance.randrange(1, 20):02},2027-01-01,{chance.randrange(1, 5)}"
    workspace.write("commitments.csv", f"commitment_id,price,currency,started,ended,quantity\nri-1,{money()},{terms}\n")
    sources = "".join(f'\n[[source]]\nname = "{name}"\npath = "{name}.csv"\n' for name in LEDGERS)
    workspace.write("trainfare.toml", company.settings() + sources)


def totals(workspace: Workspace, month, version: int | None = None) -> dict[str, Decimal]:
    """Effective cost by source; an adjustment of October is a source of its own."""
    with workspace.open() as store:
        book = store.catalog.book(month, version) if version else store.catalog.latest(month)
        return {one.source: one.shares for one in book.totals if one.basis == "effective"}


@pytest.mark.parametrize("seed", [1, 2])
def test_adjustments_are_the_difference_between_two_versions(built: Workspace, tmp_path: Path, seed: int) -> None:
    """Two companies get the same late files. One closed October and books them in November; the other rebuilds it."""
    write_ledgers(built, seed)
    built.build()
    shutil.copytree(built.folder, tmp_path / "open")
    closed, still_open = built, Workspace(tmp_path / "open")
    closed.close(OCTOBER)
    for workspace in (closed, still_open):
        write_ledgers(workspace, seed + 100)
        restate(workspace, OCTOBER, "50.000000000001")
        workspace.build()
    before, after = totals(closed, OCTOBER), totals(still_open, OCTOBER)
    expected = {source: after[source] - before[source] for source in after if after[source] != before[source]}
    adjusted = {
        source.removesuffix(" adjusting 2026-10"): money
        for source, money in totals(closed, NOVEMBER).items()
        if source.endswith(" adjusting 2026-10")
    }
    assert len(expected) == 5
    assert adjusted == expected
    for workspace in (closed, still_open):
        workspace.require_sound()
