"""`trainfare doctor`: what is there, what is missing for which figure, how to get it, and what to run next."""

import json
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from trainfare.cli import options, output, terminal
from trainfare.cli.output import Listing
from trainfare.errors import Problem, TrainfareError
from trainfare.files.locations import use_endpoint
from trainfare.report import records
from trainfare.report.render import money
from trainfare.settings.config import FILE_NAME, Config, SourceSettings
from trainfare.sources.guides import Guide, guides

if TYPE_CHECKING:
    from trainfare.books.inspection import Inspection, ReadableFile
    from trainfare.books.readiness import Figure

COLUMNS = ["section", "name", "status", "detail", "do"]
UNREADABLE = 2
INCOMPLETE = 3


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@options.workspace_option
@click.option("--zone", help="Time zone of times without an offset in these files.  [default: UTC]")
@click.option(
    "--policy",
    type=click.Choice(list(guides())),
    help="Print how to export the bill of this cloud, and a read-only policy for it.",
)
@options.format_option()
def doctor(files: tuple[str, ...], workspace: Path, zone: str | None, policy: str | None, format_: str) -> None:
    """Inspect a workspace or files: what is there, and what is missing for which figure.

    \b
    A workspace:  trainfare doctor
    Files:        trainfare doctor bill.csv jobs.csv machines.csv
    A folder:     trainfare doctor exports/
    Exports:      trainfare doctor --policy CLOUD

    Nothing is built or changed. Exit code 0 if nothing is missing for the cost per hour, 3 if data is incomplete, and 2
    if a file cannot be read.
    """
    if policy:
        _show_policy(guides()[policy], format_)
        return
    config = _config(files, workspace, zone)
    found = _inspect(config)
    next_commands = _next(found, workspace if not files else None)
    _show(found, next_commands, format_)
    raise click.exceptions.Exit(_exit_code(found))


def _config(files: Sequence[str], workspace: Path, zone: str | None) -> Config:
    """Return settings that name the files to inspect; a folder stands for the files in it."""
    if len(files) == 1 and (Path(files[0]) / FILE_NAME).is_file():
        return options.load_settings(Path(files[0]))
    if not files:
        if not (workspace / FILE_NAME).exists():
            do = "Name the files to inspect, as in: trainfare doctor bill.csv jobs.csv   (or a workspace with -w)"
            raise TrainfareError(str(workspace.resolve()), f"not a workspace: there is no {FILE_NAME}", do)
        return options.load_settings(workspace)
    paths = [path for file in files for path in _paths(file)]
    use_endpoint(None)
    sources = tuple(SourceSettings(path=path, zone=zone or "UTC") for path in paths)
    return Config(source=sources, folder=Path("/"))


def _paths(file: str) -> list[str]:
    if "://" in file:
        return [file]
    path = Path(file).absolute()
    if not path.is_dir():
        return [str(path)]
    found = [str(one) for one in sorted(path.iterdir()) if one.is_file() and not one.name.startswith(".")]
    if not found:
        raise TrainfareError(file, "there are no files in this folder", "Name a folder with exported files.")
    return found


def _inspect(config: Config) -> "Inspection":
    from trainfare.books.inspection import inspect
    from trainfare.engine.choice import embedded

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="trainfare-", ignore_cleanup_errors=True))
        engine = stack.enter_context(embedded())
        stack.enter_context(terminal.progress())
        return inspect(engine, config, Path(folder))


def _exit_code(found: "Inspection") -> int:
    from trainfare.books.readiness import is_complete

    if found.problems:
        return UNREADABLE
    return 0 if is_complete(found) else INCOMPLETE


def _next(found: "Inspection", workspace: Path | None) -> list[str]:
    """Return the commands to run next; they work from the current folder."""
    from trainfare.sources.guides import guide_of
    from trainfare.sources.kinds import Kind

    clouds = dict.fromkeys(key for name in found.providers if (key := guide_of(name)))
    export = [f"trainfare doctor --policy {key}" for key in clouds or guides()]
    if not found.months and not found.rows(Kind.HARDWARE):
        return export
    more = [] if all(one.is_complete for one in found.months) else export[: len(clouds)]
    if not found.log.rows:
        return more
    if workspace is None and not found.months:
        return ["trainfare init"]
    if workspace is not None:
        return [options.command("build", workspace), options.command("check", workspace), *more]
    roles = {Kind.BILL: "", Kind.JOBS: " --jobs", Kind.MACHINES: " --machines"}
    ordered = sorted(found.files, key=lambda file: [*roles, file.kind].index(file.kind))
    given = "".join(f"{roles.get(file.kind, ' --with')} {shlex.quote(file.path)}" for file in ordered)
    return [f"trainfare report{given}", *more]


def _show(found: "Inspection", next_commands: list[str], format_: str) -> None:
    from trainfare.books.readiness import figures, is_complete

    needed = figures(found)
    if format_ == "json":
        print(json.dumps(_as_json(found, needed, next_commands, is_complete(found)), indent=2))
    elif format_ == "table":
        _show_text(found, needed, next_commands)
    else:
        output.show(Listing("doctor", _rows(found, needed, next_commands), COLUMNS), format_)


def _as_json(
    found: "Inspection", needed: Sequence["Figure"], next_commands: list[str], complete: bool
) -> dict[str, Any]:
    names = ("files", "problems", "months", "providers", "log", "names", "measures", "ledgers")
    content = {name: _plain(getattr(found, name)) for name in names}
    return {"schema_version": 1, "complete": complete, **content, "figures": _plain(needed), "next": next_commands}


def _plain(value: Any) -> Any:
    """Return a value of an inspection as JSON has it."""
    from trainfare.period import Month

    if isinstance(value, Month):
        return str(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return records.json_value(value)


def _rows(found: "Inspection", needed: Sequence["Figure"], next_commands: list[str]) -> list[dict[str, Any]]:
    """Return everything as one flat list, for CSV and Markdown."""
    rows = [("file", file.path, "ok", _file_text(file), _columns_text(file)) for file in found.files]
    rows += [("file", one.where, "unreadable", one.what, one.do) for one in found.problems]
    rows += [("present", name, "", text, "") for name, text in _facts(found)]
    rows += [("figure", _figure_name(one), one.status, one.missing, one.do) for one in needed]
    rows += [("next", command, "", "", "") for command in next_commands]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _show_text(found: "Inspection", needed: Sequence["Figure"], next_commands: list[str]) -> None:
    _heading("What is there", is_first=True)
    for file in found.files:
        _line(f"{file.path}: {_file_text(file)}")
        if note := _columns_text(file):
            _line(note, 4)
    for name, text in _facts(found):
        _line(f"{name}: {text}")
    if found.problems:
        _heading("What cannot be read")
        _show_problems(found.problems)
    _heading("What can be computed")
    for one in needed:
        terminal.show(Text(f"  {one.status:<9}{_figure_name(one)}", style=_STYLES[one.status]))
    _show_missing(needed)
    _heading("What to run next" if next_commands else "Add a job log, then run this command again")
    for command in next_commands:
        _line(command)


_STYLES = {"ready": "green", "partial": "yellow", "missing": "red", "optional": ""}


def _show_missing(needed: Sequence["Figure"]) -> None:
    """Print what is missing, each reason once, with the figures that lack it."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in needed:
        if one.missing:
            reasons.setdefault((one.missing, one.do), []).append(one.code or one.name)
    if reasons:
        _heading("What is missing")
    for (missing, do), names in reasons.items():
        _line(f"{', '.join(names)}: {missing}")
        _line(do, 4)


def _show_problems(problems: Sequence[Problem]) -> None:
    for one in problems[:20]:
        _line(f"{one.where}: {one.what}")
        _line(one.do, 4)
    if len(problems) > 20:
        _line(f"... and {len(problems) - 20} more.")


def _heading(text: str, is_first: bool = False) -> None:
    terminal.show(Text(text if is_first else f"\n{text}", style="bold"))


def _line(text: str, indent: int = 2) -> None:
    """Print a sentence, indented, also where it wraps."""
    terminal.show_indented(text, indent)


def _figure_name(figure: "Figure") -> str:
    return f"{figure.code:<4}{figure.name}" if figure.code else f"    {figure.name}"


_NOUNS = {"machines": "machine file", "usage": "measurements", "quality": "results", "prices": "price list"}


def _file_text(file: "ReadableFile") -> str:
    from trainfare.books.readiness import moment

    span = f", {moment(file.first)} to {moment(file.last)}" if file.first else ""
    noun = _NOUNS.get(file.kind, file.kind.label)
    format_ = "" if file.format in (file.kind, noun) else f" ({file.format})"
    return f"{noun}{format_}, {terminal.count(file.rows, 'row')}{span}"


def _columns_text(file: "ReadableFile") -> str:
    notes = []
    if file.unread_columns:
        notes.append(f"Columns that are not read: {', '.join(file.unread_columns)}.")
    if file.label_columns:
        notes.append(f"Columns that become labels: {', '.join(file.label_columns)}.")
    return " ".join(notes)


def _facts(found: "Inspection") -> list[tuple[str, str]]:
    """Return what all files say together, each as a name and a sentence."""
    from trainfare.books.readiness import moment

    facts = []
    for one in found.months:
        through = "complete" if one.is_complete else f"billed until {moment(one.billed_through)}"
        hours = f"machine time until {moment(one.hours_through)}" if one.hours_through else "no charges by the day"
        cost = f"{money(one.effective)} {one.currency}"
        facts.append((f"bill {one.month}", f"{cost}, {terminal.count(one.lines, 'line')}, {through}; {hours}"))
    if found.providers:
        facts.append(("providers", ", ".join(found.providers)))
    if found.log.rows:
        facts.append(("jobs", _log_text(found)))
        facts.append(("machines", _names_text(found)))
    if found.measures:
        facts.append(("measurements", ", ".join(f"{name} {rows:,}" for name, rows in found.measures.items())))
    if found.ledgers:
        facts.append(("ledgers", ", ".join(f"{name} {rows:,}" for name, rows in found.ledgers.items())))
    return facts


def _log_text(found: "Inspection") -> str:
    from trainfare.books.readiness import moment

    log, count = found.log, terminal.count
    running = f", {count(log.running, 'placement')} still running" if log.running else ""
    labels = [f"{label} {100 * rows // log.rows} %" for label, rows in log.labels.items() if rows]
    span = f"{moment(log.first)} to {moment(log.last)}"
    labeled = f"; labels: {', '.join(labels)}" if labels else "; no labels"
    held = f"{count(log.jobs, 'job')}, {count(log.attempts, 'attempt')} on {count(log.machines, 'machine')}"
    return f"{held}, {span}{running}{labeled}"


def _names_text(found: "Inspection") -> str:
    names, place = found.names, "on the bill or in a ledger" if found.ledgers else "on the bill"
    texts = [f"{names.on_bill:,} of {names.in_log:,} names in the job log are {place}, {names.sized:,} with known GPUs"]
    if names.listed:
        texts.append(f"{names.listed_on_bill:,} of {names.listed:,} in the machine file are {place}")
    texts.append(f"{terminal.count(names.gpu_resources, 'resource')} on the bill with known GPUs")
    return "; ".join(texts)


def _show_policy(guide: Guide, format_: str) -> None:
    """Print how to export the bill of a cloud, and the policy as it can be saved."""
    if format_ == "json":
        print(json.dumps({"schema_version": 1, **_plain(guide)}, indent=2))
        return
    if format_ != "table":
        steps = [("export", step) for step in guide.export] + [("command", line) for line in guide.commands]
        steps += [("policy", guide.policy), ("policy_use", guide.policy_use), ("policy_note", guide.policy_note)]
        rows = [{"part": part, "text": text.replace("\n", " ") if format_ == "md" else text} for part, text in steps]
        output.show(Listing("policy", rows, ["part", "text"]), format_)
        return
    _heading(f"Export the bill of {guide.name}, once", is_first=True)
    for number, step in enumerate(guide.export, 1):
        terminal.show_indented(f"{number}. {step}", 2)
    _heading("Fetch it, and list the machines")
    for command in guide.commands:
        print(f"  {command}")
    _heading("The least privilege that this takes: read-only")
    print(guide.policy)
    _line(guide.policy_use)
    _line(guide.policy_note)
