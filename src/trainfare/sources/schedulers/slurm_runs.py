"""What Slurm's accounting means, whichever way it was exported.

Both readers fill `slurm_told`: one row per record of a job that has started, in Slurm's own words, with times in UTC.
From it come the placements:

- Every record is a run, and a run is an attempt, in the order they started. A job that is resized writes a record
  that ends as RESIZING and goes on in the next one, which carries the Start of the first: one attempt, and the
  second record counts from where the first ended.
- A suspended job keeps its GPUs, so a run lasts from Start to End, whatever Slurm calls elapsed.
- The parts of a heterogeneous job (`16+0`, `16+1`) are one job. Each task of an array (`6_2`) is a job of its own.
- Slurm keeps what a run held as a total. It is spread evenly over the nodes; of what is left over the first nodes
  get one each. Memory is counted in GiB. A record with nodes but without AllocTRES held an unknown amount.
"""

import json
from collections.abc import Callable

from trainfare import tables
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.sources.schedulers import hostlist

PACKAGE = "trainfare.sources.schedulers"
TOLD = "slurm_told"
LISTED_FAULTS = 50
NO_NODES = "'None assigned', '(null)', 'None', ''"

EXPORT = (
    "Export with: sacct --allusers --duplicates --parsable2 --allocations --starttime=YYYY-MM-DD "
    "--format=JobID,JobIDRaw,Cluster,User,Account,WCKey,QOS,Partition,JobName,Comment,"
    "State,Submit,Start,End,ElapsedRaw,Suspended,AllocTRES,NodeList"
)
AGAIN = "Export the file again, or take this record out of it."


def place(engine: DuckDB, into: str, faults: Faults, where: Callable[[int], str]) -> None:
    """Turn `slurm_told` into the placements `into`; a record that cannot be placed is a fault and is left out."""
    engine.step(PACKAGE, "slurm_tres", "slurm_tres")
    engine.step(PACKAGE, "slurm_comments", "slurm_comments", _labels())
    _expand_nodes(engine)
    engine.step(PACKAGE, "slurm_problems", "slurm_problems", {"again": quoted(AGAIN)})
    report(engine, "slurm_problems", faults, where)
    engine.run(f"DELETE FROM {TOLD} WHERE line IN (SELECT line FROM slurm_problems)")
    engine.step(PACKAGE, "slurm_placements", "slurm_laid")
    engine.table(into, tables.PLACEMENTS.typed_select("slurm_laid"))
    engine.drop(TOLD, "slurm_tres", "slurm_comments", "slurm_hosts", "slurm_problems", "slurm_laid")


def report(engine: DuckDB, problems: str, faults: Faults, where: Callable[[int], str]) -> None:
    """Add the rows (line, what, do) of `problems` to the faults: the first by line, the others as a number."""
    found = engine.rows(f'SELECT line, what, "do" FROM {problems} ORDER BY line, what LIMIT {LISTED_FAULTS}')
    for line, what, do in found:
        faults.add(where(line), what, do)
    faults.unlisted += int(engine.row(f"SELECT count(*) FROM {problems}")[0]) - len(found)


def nothing(engine: DuckDB, into: str) -> None:
    """Make `into` a table of no placements, for a file in which nothing can be read."""
    engine.run(f'CREATE OR REPLACE TEMP TABLE "{into}" ({tables.PLACEMENTS.definition()})')


def _labels() -> dict[str, str]:
    columns = (f"max(said) FILTER (key = {quoted(name)}) AS {name}" for name in tables.LABELS)
    return {"labels": ", ".join(columns), "label_names": ", ".join(quoted(name) for name in tables.LABELS)}


def _expand_nodes(engine: DuckDB) -> None:
    """Make `slurm_hosts`: each distinct node list with its machines, or with why it cannot be read."""
    lists = [row[0] for row in engine.rows(f"SELECT DISTINCT nodes FROM {TOLD} WHERE nodes IS NOT NULL")]
    expanded: list[tuple[str, list[str], str | None]] = []
    for nodes in lists:
        try:
            expanded.append((nodes, hostlist.expand(nodes), None))
        except ValueError as error:
            expanded.append((nodes, [], str(error)))
    told = [{"nodes": nodes, "machines": machines, "bad": bad} for nodes, machines, bad in expanded]
    shape = '[{"nodes": "VARCHAR", "machines": ["VARCHAR"], "bad": "VARCHAR"}]'
    engine.table(
        "slurm_hosts",
        f"SELECT unnest(from_json({quoted(json.dumps(told))}, {quoted(shape)}), max_depth := 2)",
    )
