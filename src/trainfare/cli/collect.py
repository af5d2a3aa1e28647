"""`trainfare collect`: query running systems, and record what they say."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainfare import quoting
from trainfare.cli import options, published, terminal
from trainfare.errors import TrainfareError
from trainfare.settings.config import FILE_NAME, Config

if TYPE_CHECKING:
    from trainfare.collect.run import Collected
    from trainfare.settings.collectors import CollectorSettings
    from trainfare.store import Store

_UNITS = {"s": 1, "m": 60, "h": 3600}


@click.command()
@options.workspace_option
@click.option("--only", metavar="NAME", multiple=True, help="Only the collector of this name; may be repeated.")
@click.option("--every", metavar="TIME", help="Repeat until stopped, such as every 30s, 5m or 1h.  [default: once]")
@click.option("--seal", is_flag=True, help="Seal what was recorded at once, not after an hour.")
def collect(workspace: Path, only: tuple[str, ...], every: str | None, seal: bool) -> None:
    """Query the systems of all collectors once, or again and again, and record what they say.

    A collector that fails is named, and does not stop the others. The exit code is then 4 if a system could not be
    reached, 3 if another process was collecting, and 2 if the settings are wrong.
    """
    from trainfare.collect import registry

    config = options.load_settings(workspace)
    seconds = _seconds(every)
    registry.require_known(config)
    chosen = _chosen(config, only, workspace)
    with ExitStack() as stack:
        store = published.open_store(stack, config, workspace)
        while True:
            started = time.monotonic()
            codes = list(_round(config, store, chosen, seal, (seconds or 0) / len(chosen)))
            if seconds is None:
                break
            time.sleep(max(seconds - (time.monotonic() - started), 0))
    if any(codes):
        raise click.exceptions.Exit(max(codes))


def _round(
    config: Config, store: "Store", chosen: "list[CollectorSettings]", seal: bool, wait_seconds: float
) -> Iterator[int]:
    """Run each collector once, print its totals or its error, and yield its exit code.

    Each may listen for `wait_seconds`, so that together they take one interval.
    """
    from trainfare.collect.run import collect as run
    from trainfare.store.recordings import sealing

    for settings in chosen:
        started = time.monotonic()
        try:
            done = run(config, settings, store, seal, wait_seconds=wait_seconds)
            terminal.show(_line(done, time.monotonic() - started))
            yield 0
        except TrainfareError as error:
            terminal.message(quoting.visible(str(error)))
            yield error.exit_code
    sealing.compact(store, datetime.now(UTC))


def _line(done: "Collected", seconds: float) -> str:
    through = f"{done.complete_through:%Y-%m-%dT%H:%M:%SZ}" if done.complete_through else "unknown"
    counts = f"recorded={done.recorded} unchanged={done.unchanged} sealed={done.sealed}"
    return f"{done.name}  {counts} complete_through={through}  ({seconds:.1f} s)"


def _chosen(config: Config, only: tuple[str, ...], workspace: Path) -> "list[CollectorSettings]":
    if not config.collector:
        do = 'Add [[collector]] name = "lab", system = "slurm" to collect from a cluster.'
        raise TrainfareError(str(workspace / FILE_NAME), "there is no collector", do)
    names = [one.name for one in config.collector]
    for name in only:
        if name not in names:
            raise TrainfareError("--only", f"there is no collector '{name}'", f"Collectors: {', '.join(names)}.")
    return [one for one in config.collector if not only or one.name in only]


def _seconds(text: str | None) -> int | None:
    """Return an interval such as 30s, 5m or 1h in seconds; None if there is none."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})([smh])", text)
    if not found:
        raise TrainfareError("--every", f"'{text}' is not an interval", "Write it as 30s, 5m or 1h.")
    return int(found[1]) * _UNITS[found[2]]
