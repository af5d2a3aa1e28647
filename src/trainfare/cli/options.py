"""Options that several commands share, and what they mean."""

import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from trainfare.config import FILE_NAME, Config, load
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.places import seek

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "md")


def workspace_option(command: Command) -> Command:
    return click.option(
        "-w",
        "--workspace",
        type=click.Path(path_type=Path),
        default=Path(),
        help="The workspace folder.  [default: here]",
    )(command)


def month_option(command: Command) -> Command:
    return click.option("--month", metavar="YYYY-MM", help="The month.  [default: the newest book]")(command)


def format_option(*formats: str) -> Callable[[Command], Command]:
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats or FORMATS),
        default="table",
        show_default=True,
        help="How to print.",
    )


def is_given(name: str) -> bool:
    """Whether the user wrote this option; a default is nothing that was asked for."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def command(line: str, workspace: Path | None = None) -> str:
    """A command to type next, as it works from here: for this workspace, or the one that was given."""
    folder = workspace or click.get_current_context().params.get("workspace", Path())
    return f"trainfare {line}" + ("" if folder == Path() else f" -w {shlex.quote(str(folder))}")


def as_month(text: str | None, where: str = "--month") -> Month | None:
    if text is None:
        return None
    try:
        return Month.parse(text)
    except ValueError as error:
        raise TrainfareError(where, str(error), "Write it as YYYY-MM, for example 2026-10.") from None


def as_moment(text: str | None, where: str) -> datetime | None:
    """A time in UTC; one without a zone is UTC."""
    if text is None:
        return None
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        raise TrainfareError(where, f"'{text}' is not a time", "Write it as 2026-10-15T12:00Z.") from None
    return told.replace(tzinfo=told.tzinfo or UTC).astimezone(UTC)


def settings_of(workspace: Path) -> Config:
    """The settings of a workspace; a folder without them is no workspace."""
    path = workspace / FILE_NAME
    if not path.exists():
        made = "trainfare init" if workspace == Path() else f"trainfare init {shlex.quote(str(workspace))}"
        do = f"Make one with: {made}   (or give files: trainfare report BILL --jobs JOBS)"
        raise TrainfareError(str(path.parent.resolve()), f"this is no workspace: it has no {FILE_NAME}", do)
    config = load(path)
    seek(config.s3_endpoint)
    return config


def with_engine(config: Config, name: str | None, master: str | None) -> Config:
    """The settings with the engine that was asked for on the command line."""
    given = {"name": name, "master": master}
    engine = msgspec.structs.replace(config.engine, **{key: value for key, value in given.items() if value})
    if master and engine.name != "spark":
        raise TrainfareError("--spark-master", f"is given, but the engine is {engine.name}", "Add --engine spark.")
    return msgspec.structs.replace(config, engine=engine)
