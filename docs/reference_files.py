"""The reference page of file formats, from the sources that read them."""

import csv
import inspect
import io
from functools import partial
from importlib import resources

from layout import code, grid

from trainfare import tables
from trainfare.sources.bills import charges as focus
from trainfare.sources.ledgers import prices
from trainfare.sources.ledgers import tables as ledger_tables
from trainfare.sources.registry import SOURCES
from trainfare.sources.schedulers import jobs, sacct, slurm_runs
from trainfare.sources.telemetry import measurements, quality


def files_parts() -> list[str]:
    """Return the sections of the page."""
    parts = [
        "The format of a file is recognized by its content, not its name. Text may be compressed with gzip. A file with "
        "any invalid line is rejected as a whole, with all its invalid lines. The same content counts once, under "
        "whatever names it is delivered.",
        grid(("format", "kind", "content"), [(f"`{f.NAME}`", f.KIND, f.DESCRIPTION) for f in SOURCES]),
    ]
    columns = {
        "focus": _focus_columns,
        "sacct": _sacct_columns,
        "jobs": _job_columns,
        "machines": _machine_columns,
        "measurements": lambda: _own_columns(tables.USAGE, measurements.FILE.required, ("line",)),
        "quality": lambda: _own_columns(tables.QUALITY, quality.FILE.required, ("line",)),
        "prices": lambda: _own_columns(tables.PRICES, prices.FILE.required, ("line",)),
    }
    for table in ledger_tables.LEDGERS:
        (ledger,) = (format_ for format_ in SOURCES if table.name == format_.NAME)
        columns[table.name] = partial(_own_columns, table, ledger.FILE.required, ("line", "zone"))
    for format_ in SOURCES:
        parts += [f"## `{format_.NAME}`", inspect.cleandoc(format_.__doc__ or "")]
        parts += columns.get(format_.NAME, list)()
    parts += ["## What Slurm's records mean", inspect.cleandoc(slurm_runs.__doc__ or "")]
    return [*parts, *_instance_types()]


def _focus_columns() -> list[str]:
    read = {name: (column,) for name, column in (focus.AMOUNTS | focus.TIMES).items()} | focus.TEXTS
    read |= {"currency": ("BillingCurrency",), "tags": ("Tags",), "price_details": ("SkuPriceDetails",)}
    rows = []
    for column in tables.CHARGES.columns:
        if column.name in read:
            names = read[column.name]
            rows.append((code(names), "yes" if names[0] in focus.REQUIRED else "", f"`{column.name}`"))
    return ["Columns that are read:", grid(("column", "required", "becomes"), rows)]


def _sacct_columns() -> list[str]:
    required = f"Required: one of {code(sacct.JOB_IDS)}, and {code(sacct.REQUIRED)}."
    return [f"{required} Optional: {code(sacct.OPTIONAL)}. Other columns are ignored.", f"{slurm_runs.EXPORT}."]


def _job_columns() -> list[str]:
    return _own_columns(tables.PLACEMENTS, jobs.REQUIRED, ("labels", "line", *tables.LOG_COLUMNS))


def _machine_columns() -> list[str]:
    return _own_columns(tables.MACHINES, ("machine_id",), ("line",))


def _own_columns(table: tables.Table, required: tuple[str, ...], not_in_file: tuple[str, ...]) -> list[str]:
    columns = [column for column in table.columns if column.name not in not_in_file]
    rows = [(f"`{column.name}`", "yes" if column.name in required else "", column.meaning) for column in columns]
    return [grid(("column", "required", "meaning"), rows)]


def _instance_types() -> list[str]:
    text = resources.files("trainfare.normalize").joinpath("instance_types.csv").read_text(encoding="utf-8")
    rows = [(f"`{row['instance_type']}`", *list(row.values())[1:]) for row in csv.DictReader(io.StringIO(text))]
    return [
        "## Instance types of known size",
        "A resource of one of these types is a machine even if no job names it, and so is one for which the bill states "
        "a number of GPUs (`GpuCount` in SkuPriceDetails). The type is read from `InstanceType` in SkuPriceDetails, or "
        "found in the description or the SKU of a charge. The size of any other machine comes from a machine file, which "
        "takes precedence.",
        grid(("instance type", "GPUs", "GPU model", "CPUs", "memory GB", "source", "of"), rows),
    ]
