"""Slurm: output of `sacct --json` -> placements.

- The shape depends on the version. 22.05 (`openapi/dbv0.0.38`) writes plain numbers and one state; 23.11 and later
  (`data_parser/v0.0.40` and up) write `{"set": ..., "infinite": ..., "number": ...}` and a list of states. Both are
  read by looking at each value, not at the version.
- A list of states has flags next to the state: a requeued run is PENDING and REQUEUED, a resized one PENDING and
  RESIZING.
- Times are seconds since 1970, so no zone is needed. 0 means not yet, as does a time that is not set. Since 24.11 a job
  that never started has the start 4294967294.
- Keys of runs (`sluid`, the DBIndex of the text) exceed 63 bits and are in few versions; job, start and end suffice.
- An array task has the array's number and its own, a part of a heterogeneous job the job's number and its offset;
  `job_id` alone is the raw number.
- Memory is in MiB; a count of null or -2 means none.
- sacct takes far longer for JSON than for `--parsable2`, and the file is many times larger.
"""

import gzip
import json
import re
import shutil
import tempfile
import zlib
from pathlib import Path

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.head import Head, Unit, open_content
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ReadOptions
from trainfare.sources.schedulers import placements, slurm_runs
from trainfare.sources.schedulers.slurm_runs import BASE_STATES, FIX_RECORD, NO_NODES, PACKAGE, RECORDS

NAME = "sacct-json"
KIND = Kind.JOBS
VERSION = "6"
DESCRIPTION = "Slurm: output of sacct --json (with --duplicates to see every run)"

EXPORT = "Export with: sacct --allusers --duplicates --starttime=YYYY-MM-DD --json"

_RECORD = {
    "job_id": "JSON",
    "array": {"job_id": "JSON", "task_id": "JSON"},
    "het": {"job_id": "JSON", "job_offset": "JSON"},
    "state": {"current": "JSON"},
    "time": {"start": "JSON", "end": "JSON", "submission": "JSON"},
    "restart_cnt": "JSON",
    "nodes": "VARCHAR",
    "tres": {"allocated": [{"type": "VARCHAR", "name": "VARCHAR", "count": "VARCHAR"}]},
    "user": "VARCHAR",
    "account": "VARCHAR",
    "wckey": {"wckey": "VARCHAR"},
    "comment": {"job": "VARCHAR"},
    "partition": "VARCHAR",
    "qos": "VARCHAR",
    "name": "VARCHAR",
    "cluster": "VARCHAR",
}
"""What is read from a job record; JSON where the versions differ."""


def recognize(head: Head) -> bool:
    """Recognize sacct by fields that only its job records have, or by its meta block; squeue writes other records."""
    if not head.is_json or not re.search(r'"jobs"\s*:', head.text):
        return False
    return bool(re.search(r'"allocation_nodes"\s*:|openapi\\?/dbv|"sacct"', head.text))


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    before = len(problems.found)
    read(engine, head, "sacct_placements", options.zone, problems)
    if len(problems.found) > before:
        return 0
    return placements.archive_table(engine, head, "sacct_placements", target, problems)


rows = placements.rows


def read(engine: DuckDB, head: Head, into: str, zone: str, problems: Problems) -> None:
    """Create table `into` with the placements in the file; a record that cannot be read is a problem."""
    placements.empty(engine, into)
    if _read_jobs(engine, head, problems):
        _read_records(engine, head.path, problems)
        slurm_runs.create_placements(engine, into, problems, lambda line: _where(head.path, line))


def _where(path: Location, line: int) -> str:
    """Return the location of a record, as jq would write it."""
    return f"{path} .jobs[{line - 1}]"


def _read_jobs(engine: DuckDB, head: Head, problems: Problems) -> bool:
    """Create `sacct_jobs`, one row per record in the file's order, or report why there are none."""
    path = head.path
    try:
        if head.is_gzip:
            with tempfile.TemporaryDirectory() as folder, open_content(head.content, is_gzip=True) as content:
                decompressed = Path(folder) / "sacct.json"
                with decompressed.open("wb") as plain:
                    shutil.copyfileobj(content, plain)
                _parse(engine, decompressed)
        else:
            _parse(engine, head.content)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        problems.add(str(path), "the gzip file is damaged or truncated", "Export or copy it again.")
        return False
    except duckdb.Error:
        problems.add(str(path), "not valid JSON in UTF-8", EXPORT)
        return False
    if engine.row("SELECT jobs IS NULL FROM sacct_document")[0]:
        problems.add(str(path), "no list 'jobs'", EXPORT)
        return False
    engine.table("sacct_jobs", "SELECT unnest(jobs) AS job, generate_subscripts(jobs, 1) AS line FROM sacct_document")
    engine.drop("sacct_document")
    head.tally.record(Unit.ENTRIES, engine.row("SELECT count(*) FROM sacct_jobs")[0])
    return True


def _parse(engine: DuckDB, path: Location) -> None:
    # A table of one row, because unnesting the parsed text directly would parse it again for every few records.
    shape = quoted(json.dumps({"jobs": [_RECORD]}))
    engine.table("sacct_document", f"SELECT from_json(content, {shape}).jobs AS jobs FROM read_text({quoted(path)})")


def _read_records(engine: DuckDB, path: Location, problems: Problems) -> None:
    """Create `slurm_records` from the records that started; one without a state or a time is a problem."""
    engine.step(PACKAGE, "sacct_json", RECORDS, {"no_nodes": NO_NODES, "base_states": BASE_STATES})
    engine.table(
        "sacct_incomplete",
        f"""SELECT line, CASE
          WHEN state IS NULL THEN 'state.current is missing'
          WHEN start_text IS NULL THEN 'time.start is missing'
          WHEN end_text IS NULL THEN 'time.end is missing'
          WHEN started IS NULL AND start_text <> '0' THEN format('time.start {{}} is not a time', start_text)
          WHEN ended IS NULL AND end_text <> '0' THEN format('time.end {{}} is not a time', end_text)
          END AS what, {quoted(FIX_RECORD)} AS "do" FROM {RECORDS} WHERE what IS NOT NULL""",
    )
    slurm_runs.report(engine, "sacct_incomplete", problems, lambda line: _where(path, line))
    engine.run(f"DELETE FROM {RECORDS} WHERE started IS NULL OR line IN (SELECT line FROM sacct_incomplete)")
    engine.drop("sacct_jobs", "sacct_incomplete")
