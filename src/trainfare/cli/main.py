"""The entry point: find the command, run it, and report errors in three parts, never as a traceback."""

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from trainfare import __version__, quoting
from trainfare.cli import interrupts
from trainfare.errors import TrainfareError

GROUPS = {
    "Start": {
        "demo": ("trainfare.cli.demo:demo", "Simulate a company's month, build it and report it."),
        "init": ("trainfare.cli.workspace:init", "Create a workspace with commented settings."),
        "doctor": ("trainfare.cli.doctor:doctor", "Inspect files: what is there, what is missing, what to do."),
    },
    "Account": {
        "build": ("trainfare.cli.workspace:build", "Read the sources and publish a new version of each month."),
        "report": ("trainfare.cli.report:report", "Cost per training hour, from files or a published book."),
        "explain": ("trainfare.cli.explain:explain", "Trace a job's cost to rules, pots and bill lines."),
        "reconcile": ("trainfare.cli.books:reconcile", "Reconcile a book with the bill."),
        "diff": ("trainfare.cli.books:diff", "Compare two versions of a month."),
        "close": ("trainfare.cli.books:close", "Close a month, so that it does not change any more."),
        "reopen": ("trainfare.cli.books:reopen", "Reopen the last closed month; an audited exception."),
        "rules": ("trainfare.cli.rules:rules", "Preview the allocation rules."),
        "label": ("trainfare.cli.label:label", "Give past jobs labels that their log does not have."),
    },
    "Measure": {
        "metrics": ("trainfare.cli.metrics:metrics", "Unit costs and efficiency: metrics M1 to M10."),
        "check": ("trainfare.cli.check:check", "Cost risks and data problems, with thresholds and remedies."),
        "estimates": ("trainfare.cli.estimates:estimates", "Accuracy of estimates, once they are billed."),
        "forecast": ("trainfare.cli.forecast:forecast", "Forecast this month and the next, with budgets."),
        "checkpoints": ("trainfare.cli.metrics:checkpoints", "Recommend checkpoint intervals, with the savings."),
    },
    "Live": {
        "collect": ("trainfare.cli.collect:collect", "Query running systems, and record what they say."),
        "live": ("trainfare.cli.live:live", "What is being spent now, and by whom, to the second."),
        "sync": ("trainfare.cli.sync:sync", "Send spooled events of jobs to a server."),
        "run": ("trainfare.cli.run:run", "Run a training program and record what it does."),
    },
    "Share": {
        "serve": ("trainfare.cli.serve:serve", "Serve web pages, API and Prometheus metrics."),
        "export": ("trainfare.cli.export:export", "Export chargeback as CSV, Parquet or FOCUS."),
        "statement": ("trainfare.cli.statement:statement", "Write cost center statements as PDF, XLSX or HTML."),
    },
    "Manage": {
        "user": ("trainfare.cli.access:user", "Manage users who may sign in."),
        "token": ("trainfare.cli.access:token", "Manage API tokens."),
        "audit": ("trainfare.cli.access:audit", "List and verify the audit log."),
        "verify": ("trainfare.cli.verify:verify", "Verify every stored file and every row of the catalog."),
        "rates": ("trainfare.cli.rates:rates", "Write exchange rates of the European Central Bank."),
        "sbom": ("trainfare.cli.sbom:sbom", "List the installed software with licenses."),
    },
    "Prove": {
        "simulate": ("trainfare.cli.simulate:simulate", "Simulate a cluster's month with known costs and faults."),
        "gameday": ("trainfare.cli.simulate:gameday", "Score the account on simulated months."),
    },
}
"""The commands by group: where each is implemented, and what it does."""
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


class LazyGroup(click.Group):
    """Lists commands in groups without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the closest command for an unknown one."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"No such command '{args[0]}'.{_suggestion(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), summary) for name, (_, summary) in commands.items()])


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), COMMANDS, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="trainfare")
def cli() -> None:
    """What did one hour of training really cost, and where does each dollar come from?

    \b
    Start with:  trainfare demo
    Your files:  trainfare report BILL --jobs JOBS
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    try:
        with interrupts.recorded():
            code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        code = 0
    except OSError as error:
        if error.errno not in _FILE_SYSTEM_ERRORS:
            raise
        _discard_output()
        click.echo(quoting.visible(str(_file_system_error(error))), err=True)
        code = TrainfareError.exit_code
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command, report what went wrong, and return the exit code."""
    try:
        # In this mode click returns the exit code of a command instead of ending the process.
        given = list(arguments) if arguments is not None else None
        result: Any = cli.main(args=given, prog_name="trainfare", standalone_mode=False)
    except interrupts.InterruptedCommandError as error:
        return interrupts.report(str(error))
    except (click.Abort, KeyboardInterrupt):
        return interrupts.report()
    except Exception as error:
        if interrupts.caused(error):
            return interrupts.report()
        return _report_error(error)
    return result if isinstance(result, int) else 0


def _report_error(error: Exception) -> int:
    """Print an error that is meant for the user and return its exit code; raise any other."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, TrainfareError):
        click.echo(quoting.visible(str(error)), err=True)
        return error.exit_code
    raise error


_FULL = ("the disk is full", "Free some space and run the command again. Published books are intact.")
_UNUSABLE = ("", "Use a folder and files that this user may read and write.")
_FILE_SYSTEM_ERRORS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.EFBIG), _UNUSABLE),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST), _UNUSABLE),
}
"""Errors of the file system that a user can fix. Any other is a defect of ours and keeps its traceback."""


def _file_system_error(error: OSError) -> TrainfareError:
    what, do = _FILE_SYSTEM_ERRORS[error.errno or 0]
    return TrainfareError(error.filename or "output", what or (error.strerror or "").lower(), do)


def _discard_output() -> None:
    """Drop the rest of the output: it cannot be written, and Python must not try again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
