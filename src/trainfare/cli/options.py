"""Options that several commands share, and how their values are read."""

import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from trainfare.errors import TrainfareError
from trainfare.files.locations import use_endpoint
from trainfare.period import Month
from trainfare.settings.config import FILE_NAME, Config, load
from trainfare.tables import BASES

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "md")


def workspace_option(command: Command) -> Command:
    return click.option(
        "-w",
        "--workspace",
        type=click.Path(path_type=Path),
        default=Path(),
        help="The workspace folder.  [default: the current folder]",
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
        help="The output format.",
    )


def basis_option(command: Command) -> Command:
    return click.option(
        "--basis",
        type=click.Choice(BASES),
        default="effective",
        show_default=True,
        help="Cost basis (FOCUS column).",
    )(command)


def scope_option(command: Command) -> Command:
    return click.option(
        "--scope",
        type=click.Choice(("full", "infra")),
        default="full",
        show_default=True,
        help="infra leaves out licenses and labor.",
    )(command)


def currency_option(command: Command) -> Command:
    return click.option("--currency", help="The currency, if the bill has several.")(command)


def was_given(name: str) -> bool:
    """Return whether the user gave this option, as opposed to its default."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def command(line: str, workspace: Path | None = None) -> str:
    """Return a command line that works from the current folder, for `workspace` or the one the user named."""
    folder = workspace or click.get_current_context().params.get("workspace", Path())
    return f"trainfare {line}" + ("" if folder == Path() else f" -w {shlex.quote(str(folder))}")


def parse_month(text: str | None, where: str = "--month") -> Month | None:
    if text is None:
        return None
    try:
        return Month.parse(text)
    except ValueError as error:
        raise TrainfareError(where, str(error), "Write it as YYYY-MM, for example 2026-10.") from None


def parse_time(text: str | None, where: str) -> datetime | None:
    """Parse a time; one without a zone is UTC."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise TrainfareError(where, f"'{text}' is not a time", "Write it as 2026-10-15T12:00Z.") from None
    return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)


def load_settings(workspace: Path) -> Config:
    """Load the settings of a workspace; a folder without settings is not a workspace."""
    path = workspace / FILE_NAME
    if not path.exists():
        init = "trainfare init" if workspace == Path() else f"trainfare init {shlex.quote(str(workspace))}"
        do = f"Create one with: {init}   (or report on files: trainfare report BILL --jobs JOBS)"
        raise TrainfareError(str(path.parent.resolve()), f"not a workspace: there is no {FILE_NAME}", do)
    config = load(path)
    use_endpoint(config.s3_endpoint)
    return config


def with_engine(config: Config, name: str | None, master: str | None) -> Config:
    """Return the settings with the engine that was given on the command line."""
    given = {"name": name, "master": master}
    engine = msgspec.structs.replace(config.engine, **{key: value for key, value in given.items() if value})
    if master and engine.name != "spark":
        raise TrainfareError(
            "--spark-master", f"needs the engine spark, but the engine is {engine.name}", "Add --engine spark."
        )
    return msgspec.structs.replace(config, engine=engine)
