"""Slurm: output of `sacct --json` -> placements.

- The shape depends on the version. 22.05 (`openapi/dbv0.0.38`) writes plain numbers and one state; 23.11 and later
  (`data_parser/v0.0.40` and up) write `{"set": ..., "infinite": ..., "number": ...}` and a list of states. Both are
  read by looking at each value, not at the version.
- Times are seconds since 1970, so no zone is needed. 0 stands for not yet, as does a time that is not set.
- An array task carries the array's number and its own, a part of a heterogeneous job the job's number and its offset;
  `job_id` alone is the raw number.
- Memory is counted in MiB; a count of null or -2 is no count.
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
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources.head import Head, look, opened
from trainfare.sources.schedulers import slurm_runs
from trainfare.sources.schedulers.slurm_runs import AGAIN, NO_NODES, PACKAGE, TOLD

NAME = "sacct-json"
KIND = "jobs"
READS = "Slurm: output of sacct --json (with --duplicates to see every run)"

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
"""What is taken of a job record. JSON stands where the versions differ."""


def recognise(head: Head) -> bool:
    """Know sacct by what only its job records have, or by what its meta block says; squeue writes other records."""
    if not head.is_json or not re.search(r'"jobs"\s*:', head.text):
        return False
    return bool(re.search(r'"allocation_nodes"\s*:|openapi\\?/dbv|"sacct"', head.text))


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make `into` the placements in the file; a record that cannot be read becomes a fault with its place in `jobs`."""
    slurm_runs.nothing(engine, into)
    if _read_jobs(engine, path, faults):
        _take_told(engine, path, faults)
        slurm_runs.place(engine, into, faults, lambda line: _where(path, line))


def _where(path: Place, line: int) -> str:
    """The record as jq would name it."""
    return f"{path} .jobs[{line - 1}]"


def _read_jobs(engine: DuckDB, path: Place, faults: Faults) -> bool:
    """Make `sacct_jobs`, one row per record in the file's order, or say why there are none."""
    try:
        if look(path).is_gzip:
            with tempfile.TemporaryDirectory() as folder, opened(path, is_gzip=True) as packed:
                unpacked = Path(folder) / "sacct.json"
                with unpacked.open("wb") as plain:
                    shutil.copyfileobj(packed, plain)
                _parse(engine, unpacked)
        else:
            _parse(engine, path)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        faults.add(str(path), "the gzip file is damaged", "Export or copy it again.")
        return False
    except duckdb.Error:
        faults.add(str(path), "this is not valid JSON in UTF-8", EXPORT)
        return False
    if engine.row("SELECT jobs IS NULL FROM sacct_document")[0]:
        faults.add(str(path), "there is no list 'jobs'", EXPORT)
        return False
    engine.table("sacct_jobs", "SELECT unnest(jobs) AS job, generate_subscripts(jobs, 1) AS line FROM sacct_document")
    engine.drop("sacct_document")
    return True


def _parse(engine: DuckDB, path: Place) -> None:
    # Kept as a table of one row, because unnesting the parsed text directly would parse it again for every few records.
    shape = quoted(json.dumps({"jobs": [_RECORD]}))
    engine.table("sacct_document", f"SELECT from_json(content, {shape}).jobs AS jobs FROM read_text({quoted(path)})")


def _take_told(engine: DuckDB, path: Place, faults: Faults) -> None:
    """Make `slurm_told` of the records that started; one without a state or a time is a fault."""
    engine.step(PACKAGE, "sacct_json", TOLD, {"no_nodes": NO_NODES})
    engine.table(
        "sacct_untold",
        f"""SELECT line, CASE
          WHEN state IS NULL THEN 'state.current is missing'
          WHEN start_text IS NULL THEN 'time.start is missing'
          WHEN end_text IS NULL THEN 'time.end is missing'
          WHEN started IS NULL AND start_text <> '0' THEN format('time.start {{}} is not a time', start_text)
          WHEN ended IS NULL AND end_text <> '0' THEN format('time.end {{}} is not a time', end_text)
          END AS what, {quoted(AGAIN)} AS "do" FROM {TOLD} WHERE what IS NOT NULL""",
    )
    slurm_runs.report(engine, "sacct_untold", faults, lambda line: _where(path, line))
    engine.run(f"DELETE FROM {TOLD} WHERE started IS NULL OR line IN (SELECT line FROM sacct_untold)")
    engine.drop("sacct_jobs", "sacct_untold")
