"""Slurm, as a collector recorded it -> placements, by the same steps as from a file of `sacct`.

- A `run` is one record of sacct, with its columns as text and times in UTC. Its key is the raw job number with the time
  it was submitted: a requeued run and the record after a resize are submitted anew.
- `devices` are what the controller reports of a job while it runs, and nobody afterwards: which GPUs of which node.
  They become the label `gpu_indexes`, as in `gpu01:0-1,4 gpu02:0-3`.
"""

from collections.abc import Iterable, Sequence

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.sources.recordings.fold import ENDED_BETWEEN, History, ended_between
from trainfare.sources.recordings.loading import load_rows
from trainfare.sources.schedulers import placements, sacct, slurm_runs

SYSTEM = "slurm"
RUN, DEVICES = "run", "devices"
COLUMNS = (
    *("JobIDRaw", "JobID", "Cluster", "User", "Account", "WCKey", "QOS", "Partition", "State", "Submit", "Start"),
    *("End", "AllocTRES", "NodeList", "JobName", "Comment"),
)
"""The fields of a run that are recorded. Free text comes last."""


def make_placements(engine: DuckDB, histories: Iterable[History], into: str, problems: Problems) -> None:
    """Create `into`: the placements of one cluster. A run that cannot be read is a problem, and is left out.

    `line` is the number of the observation that shows the run as it is now.
    """
    placements.empty(engine, into)
    histories = list(histories)
    runs = {one.seq: one for one in histories if one.kind == RUN}
    columns = dict.fromkeys(("JobID", *sacct.REQUIRED, *sacct.OPTIONAL), "VARCHAR")
    load_rows(engine, "recorded_runs", {"line": "BIGINT"} | columns, (_record(one) for one in runs.values()))
    texts = ", ".join(f'NULLIF(trim("{name}"), \'\') AS "{name}"' for name in columns)
    engine.table("sacct_rows", sacct.started_rows(f"SELECT line, {texts} FROM recorded_runs"))

    def where(seq: int) -> str:
        return f"job {runs[seq].fields.get('JobID', runs[seq].uid)}"

    sacct.read_times(engine, "UTC", problems, where)
    slurm_runs.create_placements(engine, into, problems, where)
    _add_label(engine, into, "gpu_indexes", _gpu_indexes(runs, [one for one in histories if one.kind == DEVICES]))
    _add_label(engine, into, ENDED_BETWEEN, {seq: ended_between(one) for seq, one in runs.items() if one.gone})
    engine.drop("recorded_runs")


def _record(one: History) -> dict[str, object]:
    """Return a run as a record of sacct; one that is gone ended when it was last seen."""
    ended = {"End": f"{one.gone[0]:%Y-%m-%dT%H:%M:%S}", "State": "UNKNOWN"} if one.gone else {}
    return {**one.fields, **ended, "line": one.seq}


def _gpu_indexes(runs: dict[int, History], devices: Sequence[History]) -> dict[int, str]:
    """Return the GPUs of each run, as far as the controller was asked while it ran."""
    by_start = {(one.fields["JobIDRaw"], one.fields["Start"]): one.fields["gpu_indexes"] for one in devices}
    keys = {seq: (one.fields.get("JobIDRaw"), one.fields.get("Start")) for seq, one in runs.items()}
    return {seq: by_start[key] for seq, key in keys.items() if key in by_start}


def _add_label(engine: DuckDB, into: str, label: str, values: dict[int, str]) -> None:
    """Label each attempt with the values of its runs, by the number of their observation."""
    if not values:
        return
    rows = [{"line": seq, "value": value} for seq, value in values.items()]
    load_rows(engine, "run_labels", {"line": "BIGINT", "value": "VARCHAR"}, rows)
    engine.table(
        "attempt_labels",
        f"""SELECT p.job_id, p.attempt, string_agg(DISTINCT l.value, ' ' ORDER BY l.value) AS value
        FROM (SELECT DISTINCT job_id, attempt, line FROM {into}) p JOIN run_labels l ON l.line = p.line
        GROUP BY p.job_id, p.attempt""",
    )
    engine.run(
        f"""UPDATE {into} SET labels = CAST(json_merge_patch(coalesce(labels, '{{}}'),
          json_object({quoted(label)}, l.value)) AS VARCHAR)
        FROM attempt_labels l WHERE l.job_id = {into}.job_id AND l.attempt = {into}.attempt"""
    )
    engine.drop("run_labels", "attempt_labels")
