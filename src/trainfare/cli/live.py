"""`trainfare live`: what is being spent now, from what was recorded so far."""

from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.errors import IncompleteError

if TYPE_CHECKING:
    from trainfare.live.overhead import Overhead
    from trainfare.live.summary import Spent
    from trainfare.live.window import Window

KEYS = (
    *("job", "attempt", "owner", "team", "project", "experiment", "cost_center", "model_version", "priority"),
    *("machine", "cluster", "pool", "category"),
)
"""The same as in `live/summary.py`; a test compares them. Importing that takes time that `--help` should not spend."""
WINDOWS = ("15m", "1h", "6h", "24h", "7d")
_SECONDS = {"m": 60, "h": 3600, "d": 86400}


@click.command()
@options.workspace_option
@click.option(
    "--window",
    "length",
    type=click.Choice(WINDOWS),
    default="1h",
    show_default=True,
    help="How long to look back from where the records end.",
)
@click.option("--by", type=click.Choice(KEYS), default="job", show_default=True, help="What to group by.")
@options.format_option()
def live(workspace: Path, length: str, by: str, format_: str) -> None:
    """Show what is being spent now, per hour, and what was spent lately.

    It counts the machines that jobs hold or leave idle, by prices from the last bill, the contract or the price list,
    up to the second at which the records of each cluster end. Run `trainfare collect` to record more. What a book adds
    later, such as support and tax, is stated next to it.
    """
    from trainfare.engine.choice import embedded
    from trainfare.live import overhead, summary
    from trainfare.live.account import LiveAccount
    from trainfare.live.window import last, rate

    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        account = stack.enter_context(closing(LiveAccount(config, store)))
        account.bring_up_to_date(_now())
        with account.read() as connection:
            spent, now = last(connection, _seconds(length)), rate(connection)
        added = overhead.of_last_book(stack.enter_context(embedded()), store)
    if spent.through is None:
        do = "Add a job log as a [[source]], or a [[collector]] and run: trainfare collect"
        raise IncompleteError("live", f"nothing was recorded for {_now():%Y-%m} yet", do)
    rows = [_record(one, by) for one in summary.summarize(spent, now, by)]
    title = f"Spend of the last {length} and rate per hour, by {by}"
    columns = [by, "per_hour", "cost", "at_least", "currency"]
    fields = (*columns[:3], "per_hour_at_least", *columns[3:], "reasons")
    output.show(Listing("live", rows, columns, title, fields=fields, facts=_facts(spent, length, added)), format_)
    if format_ == "table":
        for line in (*_sources(spent), *_unknowns(spent), *map(_overhead, added)):
            terminal.message(line)


def _now() -> datetime:
    return datetime.now(UTC)


def _record(one: "Spent", by: str) -> dict[str, Any]:
    return {
        by: one.group,
        "per_hour": one.per_hour,
        "per_hour_at_least": one.per_hour_at_least,
        "cost": one.cost,
        "at_least": one.at_least,
        "currency": one.currency,
        "reasons": "; ".join(one.reasons),
    }


def _facts(spent: "Window", length: str, added: "list[Overhead]") -> dict[str, Any]:
    return {
        "window": length,
        "sources": [
            {"name": one.name, "complete_through": _time(one.complete_through), "problem": one.problem}
            for one in spent.sources
        ],
        "overhead": [
            {"month": str(one.month), "currency": one.currency, "factor": str(one.factor) if one.factor else None}
            for one in added
        ],
        "unknown": [
            {"machine": one.machine_id, "reason": one.reason, "seconds": one.seconds} for one in spent.unknowns
        ],
    }


def _sources(spent: "Window") -> list[str]:
    return [f"{one.name}: complete through {_time(one.complete_through) or 'nothing yet'}" for one in spent.sources]


def _unknowns(spent: "Window") -> list[str]:
    from trainfare.live.window import REASONS

    return [f"{one.machine_id}: {one.reason} ({REASONS[one.reason]})" for one in spent.unknowns]


def _overhead(one: "Overhead") -> str:
    factor = f"{one.factor:.2%}" if one.factor is not None else "an unknown part"
    return f"{one.currency}: the book of {one.month} added {factor} to the direct cost of machines; it is not included."


def _time(second: int | None) -> str | None:
    return None if second is None else f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _seconds(length: str) -> int:
    return int(length[:-1]) * _SECONDS[length[-1]]
