"""Machines that may have run after their bill ends: held or seen since, or only listed in the machine file."""

from trainfare.engine.protocol import Engine
from trainfare.period import Month


def run(engine: Engine, month: Month) -> None:
    """Make `late_machines` from the month's charges and placements."""
    times = {"log_end": str(log_end(engine, month)), "month_start": str(int(month.start.timestamp()))}
    engine.step("trainfare.findings.modes", "late_machines", "late_machines", times)


def log_end(engine: Engine, month: Month) -> int:
    """Return the end of the month's job log, as a second; the month's start if it has no jobs."""
    (last,) = engine.row("SELECT max(ends) FROM stored_placements")
    return int(month.start.timestamp()) if last is None else min(int(last), int(month.end.timestamp()))
