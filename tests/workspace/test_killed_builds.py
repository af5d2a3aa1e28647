"""A build that is killed at any instant leaves the last book readable, and the next build correct."""

import math
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
import soak

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import furnish
from .folder import Workspace
from .processes import seconds_of_build, start_build

pytestmark = [pytest.mark.services, pytest.mark.soak]

KILLS = 20 * soak.SCALE


def restate(workspace: Workspace, number: int) -> None:
    """Deliver both months with new content, so that a build has everything to do."""
    for month in (OCTOBER, NOVEMBER):
        workspace.write_bill(month, company.restated(company.lines(month), "gpu-1", f"{number}.{month.number}"))


def versions(workspace: Workspace) -> tuple[int, int]:
    return workspace.book(OCTOBER).version, workspace.book(NOVEMBER).version


def kill_after(workspace: Workspace, seconds: float) -> float | None:
    """Build, and kill the build after a time; if it ended before that, return how long it took."""
    started = time.monotonic()
    build = start_build(workspace)
    build.join(seconds)
    taken = time.monotonic() - started
    build.kill()
    build.join()
    assert build.exitcode in (0, -signal.SIGKILL)
    return None if build.exitcode else taken


def test_a_build_killed_at_any_instant_breaks_nothing(built: Workspace, tmp_path: Path) -> None:
    """Instants are spread over the time of a build, denser where it writes; each finds what the last one left."""
    soak.announce("killed builds", KILLS)
    chance = random.Random(soak.SEED)
    restate(built, 0)
    duration = seconds_of_build(built)
    seen: Counter[str] = Counter()
    number = 0
    while seen["killed"] < KILLS:
        number += 1
        before = versions(built)
        digits = built.digits(OCTOBER)
        restate(built, number)
        taken = kill_after(built, duration * math.sqrt((number % 20 + chance.random()) / 20))
        # The load of the machine changes: a build that ended by itself shows how long one takes now.
        duration = taken or duration * 1.01
        seen["killed"] += taken is None

        after = versions(built)
        assert all(new - old in (0, 1) for old, new in zip(before, after, strict=True))
        assert built.digits(OCTOBER, before[0]) == digits
        built.require_sound(latest=True)
        seen[f"published {sum(after) - sum(before)} of 2"] += 1
        seen["left unused files"] += bool(built.unreferenced())
    print(f"a build takes {duration:.2f} s; of {number} builds: {dict(seen)}")
    assert seen["left unused files"] > KILLS // 10
    assert seen["published 0 of 2"] > KILLS // 10

    built.build()
    assert built.unreferenced() == set()
    built.require_sound()
    fresh = furnish(tmp_path / "fresh")
    restate(fresh, number)
    fresh.build()
    assert [built.digits(month) for month in (OCTOBER, NOVEMBER)] == [fresh.digits(m) for m in (OCTOBER, NOVEMBER)]


def test_the_very_first_build_can_be_killed(built: Workspace, tmp_path: Path) -> None:
    """This build creates the catalog and the lake, too."""
    chance = random.Random(soak.SEED)
    for number in range(6):
        new = furnish(tmp_path / f"new-{number}")
        kill_after(new, chance.random())
        new.build()
        assert [new.digits(month) for month in (OCTOBER, NOVEMBER)] == [built.digits(m) for m in (OCTOBER, NOVEMBER)]
        assert new.unreferenced() == set()
