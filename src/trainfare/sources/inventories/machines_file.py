"""Trainfare's own list of machines: CSV, JSON lines or Parquet.

Only `machine_id` is needed. A machine whose name is given to another instance later has one row per instance,
each with its `resource_id`, `existed_from` and `existed_to`.
"""

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources.head import Head, look
from trainfare.sources.raw import Raw, open_raw, require_columns, told
from trainfare.sources.rows import header_names
from trainfare.tables import MACHINES

NAME = "machines"
KIND = "machines"
READS = "Trainfare machine file: CSV, JSON lines or Parquet with machine_id, resource_id, gpus ..."

AMOUNTS = ("gpus", "cpus", "memory_gb")
TIMES = ("existed_from", "existed_to")
MOST = 10**6
"""No machine has a million GPUs, CPUs or GB, and products with seconds stay within 64 bits."""


def recognise(head: Head) -> bool:
    if head.is_parquet:
        return "machine_id" in head.parquet_columns and not {"job_id", "started"} & head.parquet_columns
    if head.is_json:
        return '"machine_id"' in head.text and '"job_id"' not in head.text
    names = {name.strip().lower() for name in header_names(head)}
    return "machine_id" in names and not {"job_id", "started"} & names


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make table `into` with the columns of `tables.MACHINES`; a bad row is a fault."""
    before = len(faults.found)
    head = look(path)
    raw = open_raw(engine, head, "delivered", faults)
    do = "See docs/reference/files.md for the columns of a machine file."
    if raw is None or not require_columns(raw, ["machine_id"], MACHINES.names, faults, do):
        return
    with told(head, faults):
        _check(raw, zone, faults)
    if len(faults.found) > before:
        return
    columns = {"line": "line"}
    for column in MACHINES.columns:
        if column.name in TIMES:
            columns[column.name] = raw.moment(column.name, zone)
        elif column.name in AMOUNTS:
            columns[column.name] = raw.number(column.name, column.type)
        elif column.name != "line":
            columns[column.name] = raw.text(column.name)
    columns["resource_id"] = f"coalesce({raw.text('resource_id')}, {raw.text('machine_id')})"
    select = ", ".join(f"{columns[name]} AS {name}" for name in MACHINES.names)
    engine.table(into, MACHINES.typed_select(f"(SELECT {select} FROM {raw.relation})"))


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    raw.check_name(faults, "machine_id", "Every machine needs a name.")
    for column in MACHINES.columns:
        if column.name in AMOUNTS:
            do = "Write how many it has, such as 8, or leave it empty."
            raw.check_number(faults, column.name, column.type, "a number", MOST, do)
            raw.check_not_below(faults, column.name, column.type, 0, "No machine has less than nothing.")
    for name in TIMES:
        do = "Write it as 2026-10-01T00:00:00Z, or leave it empty."
        raw.check_moment(faults, name, do, zone, any_year=True)
    start, end = (f"({raw.moment(name, zone)})" for name in TIMES)
    shown = f"'it went away (' || {end} || ') before it came (' || {start} || ')'"
    raw.check(faults, f"{end} < {start}", shown, "Check existed_from and existed_to.")
