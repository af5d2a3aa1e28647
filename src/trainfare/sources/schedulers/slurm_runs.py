"""The meaning of Slurm's accounting records, however they were exported.

Both readers fill `slurm_records`: one row per record of a job that has started, in Slurm's own terms, with times in
UTC. Placements are derived from it:

- Every record is a run, and a run is an attempt, in the order they started. A job that is resized writes a record
  that ends as RESIZING and continues in the next one: one attempt, and the second record counts from the end of the
  first. Up to 23.11 the second one has the Start of the first, since 24.11 the time of the resize.
- A suspended job keeps its GPUs, so a run lasts from Start to End, whatever Slurm reports as elapsed.
- The parts of a heterogeneous job (`16+0`, `16+1`) are one job. Each task of an array (`6_2`) is a separate job.
- Slurm records the total that a run held. It is split evenly across the nodes; the first nodes get one more each
  until the remainder is used up. Memory is in GiB. A record with nodes but without AllocTRES held an unknown amount.
"""

import json
from collections.abc import Callable

from trainfare import tables
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.sources.schedulers import hostlist

PACKAGE = "trainfare.sources.schedulers"
RECORDS = "slurm_records"
LISTED_PROBLEMS = 50
BASE_STATES = ", ".join(
    quoted(state)
    for state in (
        *("RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"),
        *("BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"),
    )
)
"""The states of a job that has started; in a list of states, everything else is a flag."""
NO_NODES = "'None assigned', '(null)', 'None', ''"

EXPORT = (
    "Export with: sacct --allusers --duplicates --parsable2 --allocations --starttime=YYYY-MM-DD "
    "--format=JobID,JobIDRaw,Cluster,User,Account,WCKey,QOS,Partition,JobName,Comment,"
    "State,Submit,Start,End,ElapsedRaw,Suspended,AllocTRES,NodeList"
)
FIX_RECORD = "Export the file again, or remove this record."


def create_placements(engine: DuckDB, into: str, problems: Problems, where: Callable[[int], str]) -> None:
    """Turn `slurm_records` into the placements `into`; an invalid record is a problem and is skipped."""
    engine.step(PACKAGE, "slurm_tres", "slurm_tres")
    engine.step(PACKAGE, "slurm_comments", "slurm_comments", _labels())
    _expand_nodes(engine)
    engine.step(PACKAGE, "slurm_problems", "slurm_problems", {"fix_record": quoted(FIX_RECORD)})
    report(engine, "slurm_problems", problems, where)
    engine.run(f"DELETE FROM {RECORDS} WHERE line IN (SELECT line FROM slurm_problems)")
    engine.step(PACKAGE, "slurm_placements", "slurm_placements")
    engine.table(into, tables.PLACEMENTS.typed_select("slurm_placements"))
    engine.drop(RECORDS, "slurm_tres", "slurm_comments", "slurm_hosts", "slurm_problems", "slurm_placements")


def report(engine: DuckDB, problem_rows: str, problems: Problems, where: Callable[[int], str]) -> None:
    """Report the rows (line, what, do) of `problem_rows`: the first ones by line, the others as a number."""
    found = engine.rows(f'SELECT line, what, "do" FROM {problem_rows} ORDER BY line, what LIMIT {LISTED_PROBLEMS}')
    for line, what, do in found:
        problems.add(where(line), what, do)
    problems.unlisted += int(engine.row(f"SELECT count(*) FROM {problem_rows}")[0]) - len(found)


def _labels() -> dict[str, str]:
    """Return the columns of `slurm_comments.sql` for the labels of the contract."""
    columns = (f"max(value) FILTER (key = {quoted(name)}) AS {name}" for name in tables.LABELS)
    return {"labels": ", ".join(columns), "label_names": ", ".join(quoted(name) for name in tables.LABELS)}


def _expand_nodes(engine: DuckDB) -> None:
    """Create `slurm_hosts`: each distinct node list with its machines, or with the reason it cannot be read."""
    lists = [row[0] for row in engine.rows(f"SELECT DISTINCT nodes FROM {RECORDS} WHERE nodes IS NOT NULL")]
    expanded: list[tuple[str, list[str], str | None]] = []
    for nodes in lists:
        try:
            expanded.append((nodes, hostlist.expand(nodes), None))
        except ValueError as error:
            expanded.append((nodes, [], str(error)))
    hosts = [{"nodes": nodes, "machines": machines, "bad": bad} for nodes, machines, bad in expanded]
    shape = '[{"nodes": "VARCHAR", "machines": ["VARCHAR"], "bad": "VARCHAR"}]'
    engine.table(
        "slurm_hosts",
        f"SELECT unnest(from_json({quoted(json.dumps(hosts))}, {quoted(shape)}), max_depth := 2)",
    )
