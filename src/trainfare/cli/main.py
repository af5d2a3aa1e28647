"""The entry point: finds the command, runs it, tells errors in three parts and never as a traceback."""

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from trainfare import __version__
from trainfare.cli import interrupts
from trainfare.errors import TrainfareError

COMMANDS = {
    "demo": ("trainfare.cli.demo:demo", "An invented month of a whole company, built and reported."),
    "report": ("trainfare.cli.report:report", "Cost per training hour, from files or from a published book."),
    "metrics": ("trainfare.cli.metrics:metrics", "M1 to M10: what training costs by every measure."),
    "checkpoints": ("trainfare.cli.metrics:checkpoints", "How often jobs should save their work, and what that saves."),
    "init": ("trainfare.cli.workspace:init", "Make a workspace with commented settings."),
    "build": ("trainfare.cli.workspace:build", "Read the sources and publish a new version of each month."),
    "estimates": ("trainfare.cli.estimates:estimates", "How good estimates were when the bill came."),
    "forecast": ("trainfare.cli.forecast:forecast", "How the month may end, what the next may cost, and the budgets."),
    "explain": ("trainfare.cli.explain:explain", "Where a job's money comes from, down to bill lines."),
    "reconcile": ("trainfare.cli.books:reconcile", "Tie a book out to the bill."),
    "diff": ("trainfare.cli.books:diff", "What changed between two versions of a month, and why."),
    "close": ("trainfare.cli.books:close", "Close a month: it does not change any more."),
    "check": ("trainfare.cli.check:check", "What is wrong, with the money at stake and what to do."),
    "rules": ("trainfare.cli.rules:rules", "Look at the rules in force."),
    "serve": ("trainfare.cli.serve:serve", "Pages, API and metrics in the browser."),
    "user": ("trainfare.cli.access:user", "People who may sign in."),
    "token": ("trainfare.cli.access:token", "Tokens with which programs ask."),
    "audit": ("trainfare.cli.access:audit", "Who changed what, and whether the log is whole."),
    "export": ("trainfare.cli.export:export", "Chargeback as CSV, Parquet or FOCUS."),
    "rates": ("trainfare.cli.rates:rates", "Currency rates of the European Central Bank as a rate table."),
    "statement": ("trainfare.cli.statement:statement", "What each cost centre is charged, as PDF, XLSX or HTML."),
    "simulate": ("trainfare.cli.simulate:simulate", "Invent a cluster's month with known truth and chosen faults."),
    "gameday": ("trainfare.cli.simulate:gameday", "Play months with known truth, and print a score card."),
}


class LazyGroup(click.Group):
    """Lists commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="trainfare")
def cli() -> None:
    """What did one hour of training really cost, and where does each dollar come from?

    \b
    Start with:  trainfare demo
    Your files:  trainfare report BILL --jobs JOBS
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    try:
        with interrupts.noticed():
            code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        code = 0
    except OSError as error:
        if error.errno not in _REASONS:
            raise
        _discard_output()
        click.echo(str(_told(error)), err=True)
        code = TrainfareError.exit_code
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command and tell what went wrong; gives the exit code."""
    try:
        # Without its own ending of the process, click gives the code that a command left with as an answer.
        told = list(arguments) if arguments is not None else None
        left = cli.main(args=told, prog_name="trainfare", standalone_mode=False)
    except interrupts.PressedError as error:
        return interrupts.tell(str(error))
    except (click.Abort, KeyboardInterrupt):
        return interrupts.tell()
    except Exception as error:
        if interrupts.is_one(error):
            return interrupts.tell()
        return _left_with(error)
    return left if isinstance(left, int) else 0


def _left_with(error: Exception) -> int:
    """Tell an error that is meant for the user; any other goes on."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, TrainfareError):
        click.echo(str(error), err=True)
        return error.exit_code
    raise error


_FULL = ("the disk is full", "Free some space and run the command again; what was published stands.")
_UNUSABLE = ("", "Use a folder and files that this user may read and write.")
_REASONS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.EFBIG), _UNUSABLE),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST), _UNUSABLE),
}
"""Faults of the file system that a user can mend; any other is ours, and stays as it is."""


def _told(error: OSError) -> TrainfareError:
    what, do = _REASONS[error.errno or 0]
    return TrainfareError(error.filename or "output", what or (error.strerror or "").lower(), do)


def _discard_output() -> None:
    """Nobody can take the rest of it, and Python must not try again when it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
