"""Trainfare's own job file: one row per placement, as CSV, JSON lines or Parquet.

`job_id, attempt, machine_id, started, ended` are needed; `ended` empty means still running. A column that is
not known is kept as a label of the job. Times without an offset are local time in the source's zone. A time in the hour
that the clock leaves out in spring is refused; in the hour that comes twice in autumn the second one is meant, after
the clock was put back. An offset tells them apart, as in `2026-10-25T02:30:00+02:00`. This holds for all of our own files.
"""

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources.head import Head, look
from trainfare.sources.raw import Raw, open_raw, require_columns, told
from trainfare.sources.rows import header_names
from trainfare.tables import LABELS, OF_SLURM, PLACEMENTS, STATES

NAME = "jobs"
KIND = "jobs"
READS = "Trainfare job file: CSV, JSON lines or Parquet with job_id, attempt, machine_id, started, ended"

NEEDED = ("job_id", "attempt", "machine_id", "started", "ended")
COLUMNS = tuple(name for name in PLACEMENTS.names if name not in ("labels", *OF_SLURM))
AMOUNTS = ("gpus", "cpus", "memory_gb")
MOMENTS = ("started", "ended", "submitted")
MOST_ATTEMPTS, MOST_HELD = 10**9, 10**6
"""No machine has a million GPUs, CPUs or GB, and products with seconds stay within 64 bits."""


def recognise(head: Head) -> bool:
    if head.is_parquet:
        return {"job_id", "machine_id"} <= head.parquet_columns
    if head.is_json:
        return '"job_id"' in head.text and '"machine_id"' in head.text
    names = {name.strip().lower() for name in header_names(head)}
    return {"job_id", "machine_id"} <= names or {"job_id", "started"} <= names


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make view `into` with the columns of `tables.PLACEMENTS`; a bad row is a fault."""
    before = len(faults.found)
    head = look(path)
    raw = open_raw(engine, head, "delivered", faults)
    do = "See docs/reference/files.md for the columns of a job file."
    if raw is None or not require_columns(raw, NEEDED, COLUMNS, faults, do):
        return
    with told(head, faults):
        _check(raw, zone, faults)
    if len(faults.found) > before:
        return
    columns = {"line": "line", "labels": _labels(raw), "state": _state(raw)}
    columns |= {name: raw.text(name) for name in ("job_id", "machine_id", *LABELS)}
    columns |= {name: raw.moment(name, zone) for name in MOMENTS}
    columns |= {name: raw.number(name, _type(name)) for name in ("attempt", *AMOUNTS)}
    columns |= dict.fromkeys(OF_SLURM, "NULL")
    select = ", ".join(f"{columns[name]} AS {name}" for name in PLACEMENTS.names)
    engine.view(into, PLACEMENTS.typed_select(f"(SELECT {select} FROM {raw.relation})"))


def _type(name: str) -> str:
    return next(column.type for column in PLACEMENTS.columns if column.name == name)


def _state(raw: Raw) -> str:
    told = f"lower({raw.text('state')})"
    known = ", ".join(quoted(state) for state in STATES)
    running = f"CASE WHEN {raw.moment('ended')} IS NULL THEN 'running' ELSE 'unknown' END"
    return f"CASE WHEN {told} IN ({known}) THEN {told} ELSE {running} END"


def _labels(raw: Raw) -> str:
    """Columns nobody knows, as one JSON object without its nulls; an unknown state word is kept too."""
    unknown = [written for name, (written, _) in raw.columns.items() if name not in COLUMNS]
    others = [(written, raw.text(written)) for written in unknown]
    known = ", ".join(quoted(state) for state in STATES)
    if raw.has("state"):
        told = raw.text("state")
        others.append(("state", f"CASE WHEN lower({told}) NOT IN ({known}) THEN {told} END"))
    if not others:
        return "CAST(NULL AS VARCHAR)"
    pairs = ", ".join(f"{quoted(name)}, {value}" for name, value in others)
    return f"nullif(CAST(json_merge_patch('{{}}', json_object({pairs})) AS VARCHAR), '{{}}')"


def _check(raw: Raw, zone: str, faults: Faults) -> None:
    for name in ("job_id", "machine_id"):
        raw.check_name(faults, name, "Every row is of one job on one machine.")
    for name in ("attempt", "started"):
        raw.check_present(faults, name, "Every row needs one.")
    raw.check_number(faults, "attempt", "INTEGER", "a whole number", MOST_ATTEMPTS, "Count attempts from 1.")
    raw.check_not_below(faults, "attempt", "INTEGER", 1, "Count attempts from 1.")
    for name in MOMENTS:
        if_not = "it empty" if name == "submitted" else "`ended` empty while the job runs"
        raw.check_moment(faults, name, f"Write it as 2026-10-01T00:00:00Z, or leave {if_not}.", zone)
    for name in AMOUNTS:
        do = "Write how much was held, such as 8 or 0.5, or leave it empty."
        raw.check_number(faults, name, _type(name), "a number", MOST_HELD, do)
        raw.check_not_below(faults, name, _type(name), 0, "Nobody can hold less than nothing.")
    start, end = f"({raw.moment('started', zone)})", f"({raw.moment('ended', zone)})"
    shown = f"'it ends (' || {end} || ') before it starts (' || {start} || ')'"
    raw.check(faults, f"{end} < {start}", shown, "Check the clock or the zone it was written in.", ["started", "ended"])
