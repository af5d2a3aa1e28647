"""Slurm: output of `sacct --json` -> placements.

- The shape depends on the version. 22.05 (`openapi/dbv0.0.38`) writes plain numbers and one state; 23.11 and later
  (`data_parser/v0.0.40` and up) write `{"set": ..., "infinite": ..., "number": ...}` and a list of states. Both are
  read by looking at each value, not at the version.
- Times are seconds since 1970, so no zone is needed. 0 stands for not yet.
- An array task carries the array's number and its own, a part of a heterogeneous job the job's number and its offset;
  `job_id` alone is the raw number.
- Memory is counted in MiB; a count of null or -2 is no count.
- sacct takes far longer for JSON than for `--parsable2`, and the file is many times larger.
"""

import re
from pathlib import Path

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.sources.head import Head, look
from trainfare.sources.schedulers import slurm_runs
from trainfare.sources.schedulers.slurm_runs import AGAIN, NO_NODES, PACKAGE, TOLD

NAME = "sacct-json"
KIND = "jobs"
READS = "Slurm: output of sacct --json (with --duplicates to see every run)"

EXPORT = "Export with: sacct --allusers --duplicates --starttime=YYYY-MM-DD --json"


def recognise(head: Head) -> bool:
    """Know sacct by what only its job records have, or by what its meta block says; squeue writes other records."""
    if not head.is_json or not re.search(r'"jobs"\s*:', head.text):
        return False
    return bool(re.search(r'"allocation_nodes"\s*:|openapi\\?/dbv|"sacct"', head.text))


def read(engine: DuckDB, path: Path, into: str, zone: str, faults: Faults) -> None:
    """Make `into` the placements in the file; a record that cannot be read becomes a fault with its place in `jobs`."""
    slurm_runs.nothing(engine, into)
    if not _read_jobs(engine, path, faults):
        return

    def where(line: int) -> str:
        return f"{path} .jobs[{line - 1}]"

    engine.step(PACKAGE, "sacct_json", TOLD, {"no_nodes": NO_NODES})
    untimed = f"""(SELECT line, CASE
          WHEN state IS NULL THEN format('job {{}} has no state', job)
          WHEN started IS NULL AND start_text <> '0' THEN format('time.start ''{{}}'' is not a time', start_text)
          WHEN ended IS NULL AND end_text <> '0' THEN format('time.end ''{{}}'' is not a time', end_text)
          WHEN start_text IS NULL OR end_text IS NULL THEN format('job {{}} has no time.start or time.end', job)
          END AS what, {quoted(AGAIN)} AS "do" FROM {TOLD} WHERE what IS NOT NULL)"""
    slurm_runs.report(engine, untimed, faults, where)
    engine.run(f"DELETE FROM {TOLD} WHERE started IS NULL OR state IS NULL OR (ended IS NULL AND end_text <> '0')")
    slurm_runs.place(engine, into, faults, where)
    engine.drop("sacct_jobs")


def _read_jobs(engine: DuckDB, path: Path, faults: Faults) -> bool:
    """Make `sacct_jobs`, one row per record in the file's order, or say why there are none."""
    packed = look(path).is_gzip
    size = _unpacked_bytes(path) if packed else path.stat().st_size
    try:
        engine.table(
            "sacct_jobs",
            f"""SELECT unnest(jobs) AS job, generate_subscripts(jobs, 1) AS line FROM read_json({quoted(path)},
            format = 'unstructured', columns = {{'jobs': 'JSON[]'}}, maximum_object_size = {max(size + 1, 1 << 24)},
            compression = {quoted("gzip" if packed else "none")})""",
        )
    except duckdb.IOException:
        faults.add(str(path), "the gzip file is damaged", "Export or copy it again.")
    except duckdb.Error:
        faults.add(str(path), "this is not the JSON that sacct writes", EXPORT)
    else:
        return True
    return False


def _unpacked_bytes(path: Path) -> int:
    """The size that a gzip file notes at its end."""
    with path.open("rb") as opened:
        opened.seek(-4, 2)
        return int.from_bytes(opened.read(4), "little")
