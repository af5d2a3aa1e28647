"""Print the reference pages from the code: `make reference`.

Nothing on these pages is written twice. Tables, commands, settings, findings, files and rules come from where they are
defined; what has no words there has them here, and a name without words stops the printing. The list of SQL steps in
`house.md` is printed too, between its two marks.
"""

import ast
import csv
import importlib
import inspect
import io
import re
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
from trainfare.attribute import rules, weighing
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
PRINTED = "<!-- Printed by docs/print_reference.py. Do not edit: run `make reference`. -->\n"
STEPS_BEGIN, STEPS_END = "<!-- steps: printed by docs/print_reference.py -->\n", "<!-- end of steps -->\n"

SETTINGS = {
    "currency": (
        "The currency of bills that have no BillingCurrency; a bill's own counts first. Also the one that "
        "reports are in "
        "where a bill has several and `--currency` is not given."
    ),
    "catalog": (
        "Where the catalog is: a file, or a URL such as `postgresql://user@host/database`. "
        "Without it: `catalog.sqlite` in the workspace."
    ),
    "serve": "Who is let in by `trainfare serve`, below `[serve]`. See below.",
    "source": "What to read, one `[[source]]` for each. See below.",
    "labels": (
        'Which tags on the bill mean which label of a job, most wanted first, as in `team = ["team", "squad"]`. '
        "Known labels: {labels}, and `job`. A label that is not named here is the tag of the same name; "
        "`job` is `job_id` or `trainfare_job`."
    ),
    "rule": "Who pays for what, one `[[rule]]` for each, in order. See below.",
    "default_rules": (
        "Whether the built-in rules come after yours. With `false`, what none of yours matches is unallocated."
    ),
    "estimate": (
        "Whether hours that no bill speaks of yet are estimated, from the last known rate, the contract or a price list. "
        "What is estimated is marked, and goes when the bill comes."
    ),
    "convert": "Into which currency charges of other currencies are converted, below `[convert]`. See below.",
    "check": "How much is too much for `trainfare check`. See below.",
    "engine": "What runs the account. See below.",
}
ENGINE_SETTINGS = {
    "name": "`duckdb`, embedded, or `spark`. `--engine` overrules it. The digits are the same.",
    "master": (
        "Where Spark is: `spark://host:7077`, `sc://host`, `local[*]`, `yarn`. Without it: what spark-submit gives. "
        "`--spark-master` overrules it."
    ),
    "settings": 'Settings for Spark, passed through, as in `{ "spark.executor.memory" = "4g" }`.',
}
CONVERT_SETTINGS = {
    "to": (
        "The currency everything is converted to, by the rate tables among the sources. Without it nothing is converted, and "
        "currencies stay apart."
    ),
    "days": "How many days a rate counts for where later days have none, such as weekends. Monthly tables need `31`. Without it: 7.",
}
SERVE_SETTINGS = {
    "sign_in": (
        "`none`: whoever reaches the service, which then listens on loopback only; `local`: people with a password, "
        "added with `trainfare user add`; `proxy`: whom a proxy names. Tokens count with each of them."
    ),
    "proxies": "Addresses from which the proxy's header is believed.",
    "proxy_header": "The header in which the proxy names the person, who must be a user here.",
    "session_hours": "How long somebody stays signed in.",
    "requests_per_minute": "The most that one address may ask for in a minute, where people sign in.",
}
CHECK_SETTINGS = {
    "unallocated": "F1: cost of training without a payer.",
    "owner_coverage": "F1: at least so much of the cost of jobs is of jobs with an owner.",
    "retry": "F2: compute cost that was lost with spot machines, of what jobs cost in pools whose machines are taken away.",
    "egress": "F3: network cost of sending data to another region.",
    "unreported_io": "F4: cost of storage that the measured requests do not explain.",
    "counted_twice": "F5: cost of what is counted twice.",
    "commitment_step": "F6: by how much the cost of what commitments cover departs from its price.",
    "burst": "F7: idle cost of machines that came up in bursts.",
    "not_billed": "F8: estimated cost of the time that is not billed yet.",
    "labour": "F9: time entries that do not fit.",
    "new_licence": "F10: licences that cost nothing before.",
}
SOURCE_SETTINGS = {
    "path": "A file, or a pattern such as `bills/*.csv`, relative to the folder of the settings file.",
    "name": "Stands beside every share of this source. Without it: the file's name, or the folder's for a pattern.",
    "zone": "Time zone of times that name none, as in sacct output. An IANA name such as `Europe/Berlin`.",
}
RULE_SETTINGS = {
    "name": "Stands beside every share the rule makes. Each rule has its own.",
    "match": "Which charges. All of its keys must hold; without any, every charge matches. See below.",
    "among": "Within what the charges are shared. Exactly one of `among`, `to` and `parts` is given.",
    "by": "What payers are weighed by. Without it: `gpu_seconds`. Only with `among`.",
    "idle": (
        "What becomes of time nobody held. Without it: `keep` among machine and cluster, `spread` among all others."
    ),
    "to": "The one payer that gets everything.",
    "parts": 'Payers with fixed parts, as in `{ "team:nlp" = 60, "team:vision" = 40 }`. Whole numbers, of any sum.',
    "reason": "Why, in a few words; shown beside money that goes to no job.",
}
MATCH = {
    "category": "what kind of cost: {categories}",
    "charge_category": "ChargeCategory: Usage, Purchase, Tax, Credit or Adjustment",
    "charge_class": "ChargeClass: Correction, or nothing",
    "service": "ServiceName",
    "service_category": "ServiceCategory",
    "provider": "ServiceProviderName or ProviderName",
    "account": "SubAccountId, or BillingAccountId where there is none",
    "billing_account": "BillingAccountId",
    "region": "RegionId",
    "resource_id": "ResourceId",
    "resource_name": "ResourceName",
    "resource_type": "ResourceType",
    "sku": "SkuId",
    "pricing": "PricingCategory",
    "commitment_id": "CommitmentDiscountId",
    "commitment_status": "CommitmentDiscountStatus: Used or Unused",
    "reservation_status": "CapacityReservationStatus: Used or Unused",
    "instance_type": "InstanceType in SkuPriceDetails, or one found in ChargeDescription",
    "description": "ChargeDescription",
    "source": "name of the source",
    "origin": "what the charge comes from: {origins}",
    "currency": "BillingCurrency",
    "machine": "`true`: the charge's resource is a machine; `false`: it is none",
    "tag": 'tags: `{ team = "nlp" }`, `{ team = true }` for any value, `{ team = false }` for none',
}
AMONG = {
    "machine": "the attempts that held the charged machine",
    "cluster": "the attempts on machines of the cluster: the machine's, or the one the charge's tag `cluster` names",
    "account": "the attempts on machines of the charge's account",
    "region": "the attempts on machines of the charge's region",
    "job": "the attempts of the job the charge's tag names",
    "all": "all attempts; by spend: all payers of the same billing account, or of all where the charge has none",
    "tag:KEY": "the attempts whose label KEY is the charge's tag KEY; if none ran then, the payer `KEY:VALUE` itself",
}
BY = {
    "gpu_seconds": "GPUs held times seconds. Without GPUs: CPUs; of which nothing is known either: time",
    "cpu_seconds": "CPUs held times seconds",
    "memory": "memory held times seconds",
    "dominant": "the largest of the parts of GPUs, CPUs and memory that were held, times seconds",
    "bytes_sent": (
        "bytes sent, as measured; those that stay within a region are left out. Where nothing was measured in the charge's "
        "time: as `gpu_seconds`, and a finding says so"
    ),
    "requests": "storage requests, as measured. Where nothing was measured in the charge's time: as `gpu_seconds`, and a finding says so",
    "wall_seconds": "time in which anything was held, each second once",
    "spend": "what each payer was given by all other rules in the month, in effective cost",
    "evenly": "one for each attempt that held anything in the charge's time",
}
IDLE = {
    "keep": "time nobody held is a payer of its own, `__idle__`",
    "spread": "only those who held something pay",
    "owner": "the team that the machine file names pays for the idle time of its machines, as `team:NAME`",
}
TO = {
    "__idle__": "paid for and not used",
    "__unallocated__": "nobody could be found who pays",
    "__outside__": "on the bill, but not training",
}
VARIABLES = {
    "TRAINFARE_LOG": "`json` or `text`: how `trainfare serve` logs; without it JSON lines where stderr is no terminal",
    "TRAINFARE_WORKSPACE": "set by `trainfare serve` for its processes: the workspace",
    "TRAINFARE_FORM_SECRET": "set by `trainfare serve` for its processes, anew at each start: signs its forms",
    "TRAINFARE_CURRENCY": "counts before `currency` in the settings file",
    "TRAINFARE_CATALOG": "counts before `catalog` in the settings file",
    "TRAINFARE_MEMORY_LIMIT": "most memory a command takes before it goes on on disk, such as `4GB`",
}
EXIT_CODES = {
    0: "fine",
    1: "`reconcile` found a difference",
    2: "wrong usage, settings or files; the message says where, what and what to do",
    3: "the data is not there yet, or another process was faster; the same command may work later",
    4: "the catalog's server cannot be reached, or does not let you in",
    130: "stopped with Ctrl-C",
}
STAGES = {
    "sources/schedulers": (("sacct", "read"), ("sacct_json", "read"), ("slurm_runs", "place")),
    "ledgers": (("laying", "lay"),),
    "normalise": (("conversion", "prepare"), ("facts", "charges"), ("facts", "held"), ("estimating", "run")),
    "attribute": (
        ("account", "route"),
        ("weighing", "weigh_all"),
        ("account", "run"),
        ("lineage", "open_job"),
        ("lineage", "open_everything"),
    ),
    "metrics": (("book", "run"),),
    "report": (("cost", "report"),),
}
"""Where the steps of each stage are run: modules and the functions to begin with."""
WAYS_TO_SHARE = {
    "spend": "by what every payer already pays",
    "gpu_seconds": "by GPU seconds held",
    "cpu_seconds": "by CPU seconds held",
}


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


def grid(header: tuple[str, ...], rows: Any) -> str:
    """A Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def worded(words: dict[str, str], names: Any) -> list[tuple[str, str]]:
    """Each name with its words. A name without words, or words without a name, is an error."""
    if odd := set(words) ^ set(names):
        raise ValueError(f"docs/print_reference.py: no words, or no such name: {', '.join(sorted(odd))}")
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
        "## `[convert]`",
        "How rates are found and amounts rounded: [convert currencies](../howto/currencies.md).",
        _settings_of(config.Convert, CONVERT_SETTINGS),
        "## `[serve]`: who is let in by `trainfare serve`",
        _settings_of(config.Serve, SERVE_SETTINGS),
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
        shown = " ".join(_head("trainfare.metrics.modes", failure.query))
        parts += [
            f"### {failure.code}: {failure.query.replace('_', ' ')}",
            f"{_sentence(failure.what)}",
            f"Rows: {shown}",
            f"Likely cause: {failure.cause}.",
            f"What to do: {failure.remedy}",
            f"More: `trainfare check {failure.code}`, `{failure.command}`. Limit: `{failure.limit}` below `[check]`.",
        ]
    parts += ["## Faults of the records"]
    for fault in FAULTS:
        shown = " ".join(_head("trainfare.metrics.faults", fault.code.lower()))
        parts += [f"### {fault.code}", f"{_sentence(fault.what)}", f"Rows: {shown}", f"What to do: {fault.remedy}"]
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
    return _own_columns(tables.PLACEMENTS, jobs_file.NEEDED, ("labels", "line"))


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
        "A resource of one of these types is a machine, also if no job names it. The size of any other "
        "machine comes from a machine file.",
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


def steps() -> str:
    """The SQL steps of each stage, in the order they run."""
    text = ""
    for stage, modules in STAGES.items():
        package = f"trainfare.{stage.replace('/', '.')}"
        there = sorted(
            file.name.removesuffix(".sql") for file in resources.files(package).iterdir() if file.name.endswith(".sql")
        )
        found = [
            name
            for module, entry in modules
            for name in _named(importlib.import_module(f"{package}.{module}"), entry, there)
        ]
        rows = [(f"`{name}`", _purpose(package, name)) for name in dict.fromkeys([*found, *there])]
        text += f"\n**{stage}**\n\n{grid(('step', 'gives'), rows)}\n"
    return text + "\n"


def _named(module: Any, entry: str, wanted: list[str]) -> Iterator[str]:
    """The wanted words in the order the code comes to them, following calls within the module."""
    functions = {
        node.name: node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.FunctionDef)
    }
    entered: set[str] = set()

    def visit(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Constant) and node.value in wanted:
            yield node.value
        for child in node.values if isinstance(node, ast.Dict) else ast.iter_child_nodes(node):
            yield from visit(child)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from enter(node.func.id)

    def enter(name: str) -> Iterator[str]:
        if name in functions and name not in entered:
            entered.add(name)
            for statement in functions[name].body:
                yield from visit(statement)

    yield from enter(entry)


def _head(package: str, name: str) -> list[str]:
    """The lines of comment a step opens with."""
    lines = resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8").split("\n")
    head = lines[: next((place for place, line in enumerate(lines) if not line.startswith("--")), len(lines))]
    return [line.removeprefix("--").strip() for line in head]


def _purpose(package: str, name: str) -> str:
    """What comes out of a step, in a sentence."""
    text = " ".join(_head(package, name))
    out = text.partition("Out: ")[2] if text.startswith("In: ") else text
    sentence = _sentence(re.split(r"(?<=[.])\s", out, maxsplit=1)[0])
    return sentence.replace("{{second}}", f"{weighing.SECOND:,}").replace("{{", "").replace("}}", "")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
