"""The advised checkpoint interval is the one that loses least in a simulation that does not use the formula."""

import math

import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.measures.lost_work import PACKAGE
from trainfare.simulate import checkpoints

HOUR = 3600
GRID = [(uptime, writing) for uptime in (HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR) for writing in (5, 30, 120, 600)]
"""Mean time between interruptions, and the time a checkpoint takes, in seconds: from 10 minutes an hour to 5 seconds a
week.
"""


def advised(grid: list[tuple[float | None, float]]) -> list[dict]:
    """The advice for jobs that save their work every hour and have spent 1,000 USD."""
    engine = DuckDB()
    columns = (
        "job INTEGER, checkpoints BIGINT, interruptions BIGINT, machines BIGINT, restart_seconds BIGINT, "
        "writing_millis BIGINT, interval_millis BIGINT, uptime_millis BIGINT"
    )
    times = [(writing * 1000, HOUR * 1000, uptime and uptime * 1000) for uptime, writing in grid]
    engine.values("checkpoint_habits", columns, [(n, 10, 5, 1, 60, *row) for n, row in enumerate(times)])
    engine.table("training_starts", "SELECT job AS attempt_key, job FROM checkpoint_habits")
    engine.table("attempts", "SELECT job AS attempt_key, CAST(job AS VARCHAR) AS job_id FROM checkpoint_habits")
    engine.table("share_kinds", "SELECT 1 AS share_kind, 'USD' AS currency")
    engine.table(
        "stored_shares",
        "SELECT job AS payer_key, 1 AS share_kind, CAST(1000 AS DECIMAL(38,12)) AS effective FROM checkpoint_habits",
    )
    for step in ("best_intervals", "checkpointing"):
        engine.step(PACKAGE, step, step)
    return engine.records("SELECT * FROM checkpointing ORDER BY CAST(job_id AS INTEGER)")


@pytest.mark.parametrize("restart", [0, 300])
def test_the_advised_interval_is_within_a_tenth_of_the_best_simulated_one(restart: int) -> None:
    far = {}
    for (uptime, writing), row in zip(GRID, advised(GRID), strict=True):
        best = checkpoints.best_interval(writing, restart, uptime)
        if abs(row["best_seconds"] / best - 1) > 0.10:
            far[uptime, writing] = row["best_seconds"], best
    assert far == {}


def test_the_simulation_distinguishes_intervals() -> None:
    """Half or twice the best interval is worse, so agreement with it is meaningful."""
    ups = checkpoints.uptimes(6 * HOUR)
    best = checkpoints.best_interval(120, 60, 6 * HOUR)
    gained = [checkpoints.useful_fraction(best * factor, 120, 60, ups) for factor in (0.5, 1, 2)]
    assert gained[1] > gained[0] * 1.01
    assert gained[1] > gained[2] * 1.01


def test_the_advised_saving_is_what_the_simulation_saves() -> None:
    """1,000 USD were spent with a checkpoint every hour. At the best interval the same work takes less time."""
    for (uptime, writing), row in zip(GRID, advised(GRID), strict=True):
        ups = checkpoints.uptimes(uptime)
        now, best = (checkpoints.useful_fraction(interval, writing, 0, ups) for interval in (HOUR, row["best_seconds"]))
        if now:
            assert math.isclose(float(row["saving"]), 1000 * (1 - now / best), abs_tol=10)


def test_without_interruptions_no_interval_is_advised() -> None:
    (row,) = advised([(None, 30.0)])
    assert (row["best_seconds"], row["saving"]) == (None, None)
