"""The flow, one way, on one page: what was delivered becomes facts, facts become shares, shares become a book."""

from collections.abc import Callable, Sequence

from trainfare.attribute import account, rules
from trainfare.config import Config
from trainfare.engine.duckdb import DuckDB
from trainfare.normalise import facts
from trainfare.period import Month
from trainfare.sources import deliver
from trainfare.sources.deliver import Delivered

Progress = Callable[[str], None]


def silent(told: str) -> None:
    """Report progress to nobody."""


def read(engine: DuckDB, config: Config, delivered: Sequence[Delivered], progress: Progress = silent) -> list[Month]:
    """Make the facts from what was delivered; returns the months it has charges for."""
    progress("reading bills")
    wanted = rules.looked_at(rules.in_force(config))
    facts.charges(engine, deliver.charge_selects(engine, config, delivered), wanted)
    progress("reading job logs")
    facts.held(engine, deliver.row_selects(delivered, "jobs"), deliver.row_selects(delivered, "machines"))
    return [Month.of(day) for (day,) in engine.rows("SELECT DISTINCT month FROM charge_kinds ORDER BY month")]


def attribute(engine: DuckDB, config: Config, month: Month, progress: Progress = silent) -> None:
    """Make the shares of one month; they balance, or an error says where they do not."""
    progress(f"sharing {month}")
    account.run(engine, config, month)
