"""Print the reference pages from the code: `make reference`.

Nothing on these pages is written twice. Tables, commands, settings, findings, files and rules come from where they are
defined; what has no words there has them in `reference_words.py`, and a name without words stops the printing. The list of SQL steps in
`house.md` is printed too, between its two marks.
"""

import csv
import importlib
import inspect
import io
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import click

from trainfare import config, ledger_tables, tables
from trainfare.attribute import rules
from trainfare.cli.main import COMMANDS
from trainfare.cli.main import cli as group
from trainfare.metrics.failures import FAILURES
from trainfare.metrics.findings import FAULTS
from trainfare.report import keys
from trainfare.report.metrics import METRICS
from trainfare.sources.bills import focus
from trainfare.sources.ledgers import prices_file
from trainfare.sources.recognise import FORMATS
from trainfare.sources.schedulers import jobs_file, sacct, slurm_runs
from trainfare.sources.telemetry import measurements_file, quality_file
from trainfare.web.api import documents
from trainfare.web.app import create_app

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from house_steps import head, steps  # noqa: E402
from layout import code, grid, sentence  # noqa: E402
from reference_words import (  # noqa: E402
    AMONG,
    BUDGET_SETTINGS,
    BY,
    CHECK_SETTINGS,
    CONVERT_SETTINGS,
    ENGINE_SETTINGS,
    EXIT_CODES,
    IDLE,
    MATCH,
    OIDC_SETTINGS,
    RULE_SETTINGS,
    SERVE_SETTINGS,
    SETTINGS,
    SOURCE_SETTINGS,
    TO,
    VARIABLES,
    WAYS_TO_SHARE,
)

PRINTED = "<!-- Printed by docs/print_reference.py. Do not edit: run `make reference`. -->\n"
STEPS_BEGIN, STEPS_END = "<!-- steps: printed by docs/print_reference.py -->\n", "<!-- end of steps -->\n"


def pages() -> dict[Path, str]:
    """Every printed page and its text."""
    reference = DOCS / "reference"
    made = {
        reference / "tables.md": tables_page(),
        reference / "commands.md": commands_page(),
        reference / "settings.md": settings_page(),
        reference / "api.md": api_page(),
        reference / "findings.md": findings_page(),
        reference / "files.md": files_page(),
        reference / "rules.md": rules_page(),
        reference / "metrics.md": metrics_page(),
    }
    house = (DOCS / "house.md").read_text(encoding="utf-8")
    before, _, rest = house.partition(STEPS_BEGIN)
    _, _, after = rest.partition(STEPS_END)
    return made | {DOCS / "house.md": before + STEPS_BEGIN + steps() + STEPS_END + after}


def page(title: str, *parts: str) -> str:
    return f"{PRINTED}# {title}\n\n" + "\n\n".join(part.strip("\n") for part in parts) + "\n"


def worded(words: dict[str, str], names: Any) -> list[tuple[str, str]]:
    """Each name with its words. A name without words, or words without a name, is an error."""
    if odd := set(words) ^ set(names):
        raise ValueError(f"docs/reference_words.py: no words, or no such name: {', '.join(sorted(odd))}")
    told = {"labels": code(tables.LABELS), "categories": ", ".join(tables.CATEGORIES)}
    told |= {"origins": ", ".join(tables.ORIGINS)}
    filled = {
        name: re.sub(r"\{(labels|categories|origins)\}", lambda found: told[found[1]], text)
        for name, text in words.items()
    }
    return [(f"`{name}`", filled[name]) for name in names]


def tables_page() -> str:
    parts = [
        "What stands in each table of a book. Money is exact to 10^-12; times are UTC, and an end is not "
        "part of its span. "
        "`shares` is what `trainfare export` writes, with the labels of the job and the pool, cluster and "
        "region of the machine beside it."
    ]
    for table in tables.TABLES:
        rows = [(f"`{column.name}`", column.type, column.meaning) for column in table.columns]
        parts += [f"## {table.name}", table.meaning, grid(("column", "type", "meaning"), rows)]
    parts += [
        "## Words in these columns",
        grid(
            ("what", "words"),
            [
                ("cost basis", code(tables.BASES)),
                ("category", code(tables.CATEGORIES)),
                ("origin", code(tables.ORIGINS)),
                ("left out by `--scope infra`", code(tables.NOT_INFRASTRUCTURE)),
                ("label of a job", code(tables.LABELS)),
                ("state of an attempt", code(tables.STATES)),
            ],
        ),
    ]
    return page("Tables", *parts)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, those of groups too."""
    for name, (place, _) in COMMANDS.items():
        module, _, attribute = place.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", found) for below, found in command.commands.items())
        else:
            yield name, command


def commands_page() -> str:
    parts = [inspect.cleandoc(group.help or "").split("\n")[0]]
    for name, command in commands():
        parts += [f"## trainfare {name}", *_command(name, command)]
        if name == "report":
            parts += [
                "What `--by` knows, up to three at once, also with commas between them. A label that the "
                "job log has beside "
                "these is known by its own name. Keys of a charge have cost but no hours of their own, so "
                "their rows have "
                "the hours of all jobs.",
                grid(
                    ("keys", "of"),
                    [
                        (code(keys.OF_JOB), "the job"),
                        (code(keys.OF_MACHINE), "the machine"),
                        (code(keys.OF_TIME), "time (UTC)"),
                        (code(keys.OF_CHARGE), "the charge"),
                    ],
                ),
            ]
    codes = [(f"`{number}`", meaning) for number, meaning in EXIT_CODES.items()]
    parts += ["## Exit codes", grid(("code", "meaning"), codes)]
    parts += [
        "## Where output goes",
        "Data goes to stdout, everything else to stderr. Colours and progress are shown on a terminal only; "
        "`NO_COLOR=1` turns colours off. Variables of the environment are listed in [settings](settings.md).",
    ]
    return page("Commands", *parts)


def _command(name: str, command: click.Command) -> Iterator[str]:
    # The width is told, so that the page is the same whatever terminal it is printed from.
    context = click.Context(
        command, info_name=f"trainfare {name}", terminal_width=78, help_option_names=["-h", "--help"]
    )
    yield f"```\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    told, *examples = inspect.cleandoc(command.help or "").split("\n\n\b\n")
    yield " ".join(told.split())
    for example in examples:
        yield f"```\n{example}\n```"
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record:
            rows.append((f"`{record[0]}`", " ".join(record[1].split())))
    yield grid(("option", "meaning"), rows)


def api_page() -> str:
    """Every address, from the OpenAPI document that the service gives."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (Path(folder) / config.FILE_NAME).write_text("", encoding="utf-8")
        told = documents.document(create_app(Path(folder)))
    sections = []
    for path, operations in sorted(told["paths"].items()):
        for method, one in operations.items():
            sections.append(f"## {one['summary']}\n\n`{method.upper()} {path}`\n\n{one.get('description', '')}")
            if one.get("parameters"):
                sections.append(grid(("parameter", "meaning", "without it"), map(_parameter, one["parameters"])))
    start = "Served by `trainfare serve`; also at `/api`, and for programs at `/api/openapi.json`. [How to ask](../howto/serve.md)."
    return page("API", start, *sections)


def _parameter(one: dict[str, Any]) -> tuple[str, str, str]:
    schema = one["schema"]
    among = f" One of {', '.join(name for name in schema['enum'] if name)}." if "enum" in schema else ""
    default = schema.get("default")
    usual = "needed" if one.get("required") and default is None else f"`{default}`" if default not in (None, "") else ""
    return f"`{one['name']}`", f"{one.get('description', '')}{among}", usual


def settings_page() -> str:
    return page(
        "Settings",
        "They stand in `trainfare.toml` in the workspace; `trainfare init` makes one with examples. A "
        "wrong setting is refused, "
        "with everything else that is wrong, before anything is read. The environment counts before the "
        "file, and the file "
        "before what is built in.",
        _settings_of(config.Config, SETTINGS, hidden=("where", "folder")),
        "## `[[source]]`",
        "The format is told from the content: see [files](files.md).",
        _settings_of(config.Source, SOURCE_SETTINGS),
        "## `[[rule]]`",
        "A charge is taken by the first rule that matches it. See [rules](rules.md) for the built-in ones.",
        _settings_of(config.Rule, RULE_SETTINGS),
        "### `match`",
        "Text is compared without case; `*` stands for anything; of a list one must fit. A charge that "
        "has nothing there "
        'matches no text, so `commitment_id = "*"` means that it has one.',
        grid(("key", "what it looks at"), worded(MATCH, config.MATCH_KEYS)),
        "### `among`",
        grid(("value", "shared among"), worded(AMONG, (*config.AMONG, "tag:KEY"))),
        "### `by`",
        grid(("value", "weighed by"), worded(BY, config.BY)),
        "### `idle`",
        grid(("value", "meaning"), worded(IDLE, config.IDLE)),
        "### `to`, and payers in `parts`",
        grid(("payer", "meaning"), worded(TO, config.TO)),
        "A payer in `parts` may also be a label and its value, such as `team:nlp`.",
        "## `[check]`",
        "Numbers are percent, of the cost of training unless told otherwise: of all that is not `__outside__`.",
        _settings_of(config.Check, CHECK_SETTINGS),
        "## `[budget]`",
        'Amounts are whole numbers, or text where they have a point, as in `"1250.50"`. How they are used: '
        "[forecast and budget](../howto/forecast.md).",
        _settings_of(config.Budget, BUDGET_SETTINGS),
        "## `[convert]`",
        "How rates are found and amounts rounded: [convert currencies](../howto/currencies.md).",
        _settings_of(config.Convert, CONVERT_SETTINGS),
        "## `[serve]`: who is let in by `trainfare serve`",
        _settings_of(config.Serve, SERVE_SETTINGS),
        "## `[oidc]`: the identity provider",
        "How to set it up: [serve](../howto/serve.md).",
        _settings_of(config.Oidc, OIDC_SETTINGS),
        "## `[engine]`",
        _settings_of(config.EngineChoice, ENGINE_SETTINGS),
        "## Environment",
        grid(("variable", "meaning"), worded(VARIABLES, VARIABLES)),
    )


def _settings_of(shape: Any, words: dict[str, str], hidden: tuple[str, ...] = ()) -> str:
    meanings = dict(worded(words, [name for name in shape.__struct_fields__ if name not in hidden]))
    needed = len(shape.__struct_fields__) - len(shape.__struct_defaults__)
    rows = []
    for place, name in enumerate(shape.__struct_fields__):
        if name not in hidden:
            default = "needed" if place < needed else _default(shape.__struct_defaults__[place - needed])
            rows.append((f"`{name}`", default, meanings[f"`{name}`"]))
    return grid(("setting", "default", "meaning"), rows)


def _default(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Decimal):
        return f"`{value}`"
    return f'`"{value}"`' if isinstance(value, str) and value else "none"


def findings_page() -> str:
    parts = [
        "A finding says what is wrong with the records, how many rows show it, how much money is "
        "concerned and what to do. "
        "Findings do not change the account: the money still goes somewhere, and the finding says where. "
        "`trainfare report` shows the five with the most money; `--format json` lists all with evidence. "
        "`trainfare check` shows these and the failure modes, and compares the latter with their limits.",
        "## Failure modes",
    ]
    for failure in FAILURES:
        shown = " ".join(head("trainfare.metrics.modes", failure.query))
        parts += [
            f"### {failure.code}: {failure.query.replace('_', ' ')}",
            f"{sentence(failure.what)}",
            f"Rows: {shown}",
            f"Likely cause: {failure.cause}.",
            f"What to do: {failure.remedy}",
            f"More: `trainfare check {failure.code}`, `{failure.command}`. Limit: `{failure.limit}` below `[check]`.",
        ]
    parts += ["## Faults of the records"]
    for fault in FAULTS:
        shown = " ".join(head("trainfare.metrics.faults", fault.code.lower()))
        parts += [f"### {fault.code}", f"{sentence(fault.what)}", f"Rows: {shown}", f"What to do: {fault.remedy}"]
    return page("Findings", *parts)


def files_page() -> str:
    parts = [
        "What a file is, is told from its content, not from its name. Text may be packed with gzip. A "
        "file in which anything "
        "is wrong is refused whole, with its lines. The same content counts once, under whatever names it comes.",
        grid(("format", "kind", "what is read"), [(f"`{f.NAME}`", f.KIND, f.READS) for f in FORMATS]),
    ]
    columns = {
        "focus": _focus_columns,
        "sacct": _sacct_columns,
        "jobs": _job_columns,
        "machines": _machine_columns,
        "measurements": lambda: _own_columns(tables.USAGE, measurements_file.NEEDED, ("line",)),
        "quality": lambda: _own_columns(tables.QUALITY, quality_file.NEEDED, ("line",)),
        "prices": lambda: _own_columns(tables.PRICES, prices_file.NEEDED, ("line",)),
    }
    for table in ledger_tables.LEDGERS:
        (ledger,) = (format_ for format_ in FORMATS if table.name == format_.NAME)
        columns[table.name] = partial(_own_columns, table, ledger.NEEDED, ("line", "zone"))
    for format_ in FORMATS:
        parts += [f"## `{format_.NAME}`", inspect.cleandoc(format_.__doc__ or "")]
        parts += columns.get(format_.NAME, list)()
    parts += ["## What Slurm's records mean", inspect.cleandoc(slurm_runs.__doc__ or "")]
    return page("Files", *parts, *_instance_types())


def _focus_columns() -> list[str]:
    given = {name: (column,) for name, column in (focus.AMOUNTS | focus.TIMES).items()} | focus.TEXTS
    given |= {"currency": ("BillingCurrency",), "tags": ("Tags",), "price_details": ("SkuPriceDetails",)}
    rows = []
    for column in tables.CHARGES.columns:
        if column.name in given:
            names = given[column.name]
            rows.append((code(names), "yes" if names[0] in focus.NEEDED else "", f"`{column.name}`"))
    return ["Columns that are read:", grid(("column", "needed", "becomes"), rows)]


def _sacct_columns() -> list[str]:
    needed = f"Needed: one of {code(sacct.JOB_IDS)}, and {code(sacct.REQUIRED)}."
    return [f"{needed} Read where there: {code(sacct.OPTIONAL)}. Other columns do no harm.", f"{slurm_runs.EXPORT}."]


def _job_columns() -> list[str]:
    return _own_columns(tables.PLACEMENTS, jobs_file.NEEDED, ("labels", "line", *tables.OF_SLURM))


def _machine_columns() -> list[str]:
    return _own_columns(tables.MACHINES, ("machine_id",), ("line",))


def _own_columns(table: tables.Table, needed: tuple[str, ...], not_in_file: tuple[str, ...]) -> list[str]:
    told = [column for column in table.columns if column.name not in not_in_file]
    rows = [(f"`{column.name}`", "yes" if column.name in needed else "", column.meaning) for column in told]
    return [grid(("column", "needed", "meaning"), rows)]


def _instance_types() -> list[str]:
    text = resources.files("trainfare.normalise").joinpath("instance_types.csv").read_text(encoding="utf-8")
    rows = [(f"`{row['instance_type']}`", *list(row.values())[1:]) for row in csv.DictReader(io.StringIO(text))]
    return [
        "## Instance types whose size is known",
        "A resource of one of these types is a machine, also if no job names it, and so is one that the bill "
        "counts GPUs of, as `GpuCount` in SkuPriceDetails. The size of any other machine comes from a machine file.",
        grid(("instance type", "GPUs", "GPU model", "CPUs", "memory GB"), rows),
    ]


def metrics_page() -> str:
    parts = [
        "`trainfare metrics` shows them, grouped as asked; every figure has what stands above and what stands below, and is divided "
        "last. Without anything below there is no figure, and it says why. Hours and money are those of the book. Each example is a "
        "whole month, told in a few lines; the tests run them as they stand here."
    ]
    for metric in METRICS:
        told, _, example = inspect.cleandoc(metric.__doc__ or "").partition("Example:")
        words, _, block = example.partition("\n\n")
        parts += [f"## {metric.CODE}: {metric.NAME}", told.strip(), f"Example: {words.strip()}"]
        parts += [f"```\n{inspect.cleandoc(block)}\n```"]
    return page("Metrics", *parts)


def rules_page() -> str:
    rows = []
    for number, rule in enumerate(rules.in_force(config.Config()), 1):
        rows.append((number, f"`{rule.name}`", _matched(rule.match), _shared(rule)))
    return page(
        "Built-in rules",
        "They come after your own, in this order; a charge is taken by the first rule that matches it, "
        "and the last takes what is "
        "left. `trainfare rules test` shows what each takes of a month. `default_rules = false` leaves "
        "out all but the last.",
        grid(("", "rule", "which charges", "who pays"), rows),
        "What the words mean is in [settings](settings.md); how to write your own is in [write "
        "rules](../howto/rules.md).",
    )


def _matched(match: dict[str, Any]) -> str:
    return " and ".join(_part(key, wanted) for key, wanted in match.items()) or "everything that is left"


def _part(key: str, wanted: Any) -> str:
    if key == "machine":
        return "its resource is a machine" if wanted else "its resource is no machine"
    if key == "tag":
        return " and ".join(f"it has a tag for `{name}`" for name in wanted)
    if wanted == "*":
        return f"it has a `{key}`"
    return f"`{key}` is {' or '.join([wanted] if isinstance(wanted, str) else wanted)}"


def _shared(rule: config.Rule) -> str:
    if not rule.among:
        return f"all to `{rule.to}`" + (f": {rule.reason}" if rule.reason else "")
    words = {name.strip("`"): text for name, text in worded(AMONG, (*config.AMONG, "tag:KEY"))}
    if rule.by == "spend":
        who = "all payers of the same billing account"
    elif rule.among.startswith("tag:"):
        who = words["tag:KEY"].replace("KEY", rule.among.removeprefix("tag:"))
    else:
        who = words[rule.among]
    idle = f"; {IDLE[rule.idle]}" if rule.idle else ""
    return f"`{rule.among}`: {who}, {WAYS_TO_SHARE[rule.by]}{idle}"


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
