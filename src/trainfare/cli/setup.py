"""What `trainfare init` does for a system to collect from: ask it, write the collector, and say what is missing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainfare import quoting
from trainfare.cli import options, terminal
from trainfare.collect.systems import SYSTEMS
from trainfare.errors import TrainfareError
from trainfare.settings.config import FILE_NAME

if TYPE_CHECKING:
    from trainfare.collect.protocol import Setup

ASKING = "init"
"""The name in messages of a collector that has none yet."""


def system_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option for each system that can be collected from."""
    for name, text in reversed(SYSTEMS.items()):
        command = click.option(f"--{name}", "system", flag_value=name, help=text)(command)
    return command


def ask(folder: Path, system: str | None, given: dict[str, str]) -> "Setup | None":
    """Return what a system needs; None without one. Options of another system are rejected."""
    from trainfare.collect import registry
    from trainfare.collect.protocol import Query

    known = registry.by_system(system).OPTIONS if system else ()
    for name in given:
        if name not in known:
            raise TrainfareError(f"--{name}", "belongs to a system that was not chosen", "Leave it out.")
    if system is None:
        return None
    if "kubeconfig" in given:
        given |= {"kubeconfig": str(Path(given["kubeconfig"]).expanduser().resolve())}
    query = Query(ASKING, None, given, folder, None, None, lambda kind: [])
    return registry.by_system(system).prepare(query)


def settings(system: str, found: "Setup") -> str:
    """Return the settings of the collector."""
    values = ", ".join(f"{key} = {json.dumps(value)}" for key, value in found.options.items())
    lines = ["", "[[collector]]", f'name = "{found.name}"', f'system = "{system}"']
    return "\n".join([*lines, *([f"options = {{ {values} }}"] if values else []), ""])


def report(folder: Path, found: "Setup") -> None:
    """Say what was created and what is missing; the manifest is the output."""
    terminal.show(quoting.visible(found.manifest.rstrip("\n")))
    terminal.message(f"Created {folder / FILE_NAME}, to collect {', '.join(found.found)}.")
    for one in found.missing:
        terminal.message(f"missing: {quoting.visible(one)}")
    line = options.command("collect --every 30s", folder)
    terminal.message(f"next: {line}; then add your bill as a source, and run: {options.command('build', folder)}")
