"""Our job file: one row per placement. CSV, JSON lines or Parquet.

`job_id, attempt, machine_id, started, ended` are required; `ended` empty means still running. Unknown columns become
labels of the job. A column `cluster` is a label and the first part of the job's id: `lab/4711`. Times without an offset
are local time in the source's zone. A time in the hour that the clock skips in spring is rejected; in the hour that
occurs twice in autumn, the second one is meant, after the clock was set back. An offset tells them apart, as in
`2026-10-25T02:30:00+02:00`. This applies to all of our own files.
"""

from trainfare.engine.duckdb import quoted
from trainfare.sources.fields import EVERY_ROW, Name, Number, OrderedTimes, Time, type_of
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import columns_among
from trainfare.sources.schedulers import placements
from trainfare.sources.table_file import TableFile
from trainfare.tables import LOG_COLUMNS, PLACEMENTS, STATES

NAME = "jobs"
KIND = Kind.JOBS
VERSION = "5"
DESCRIPTION = "Trainfare job file: CSV, JSON lines or Parquet with job_id, attempt, machine_id, started, ended"

REQUIRED = ("job_id", "attempt", "machine_id", "started", "ended")
COLUMNS = tuple(name for name in PLACEMENTS.names if name not in ("labels", *LOG_COLUMNS))
AMOUNTS = ("gpus", "cpus", "memory_gb")
OTHER_FILES = (
    {"measure"},
    {"machine_id", "value"},
    {"metric", "value"},
    {"hours", "rate"},
    {"license", "price"},
    {"vendor", "started"},
)
"""Columns that show that a file with jobs is not a job file but one of measurements, results or costs."""
SYNONYMS = {
    "job_id": ("jobid", "job", "jobname", "runid", "run"),
    "attempt": ("attempt", "try", "retry", "restart"),
    "machine_id": ("machineid", "machine", "node", "nodes", "nodename", "host", "hostname", "instance", "server"),
    "started": ("started", "start", "starttime", "startedat", "begin"),
    "ended": ("ended", "end", "endtime", "endedat", "finish", "finished", "stop"),
}
"""Names that other tools give to the required columns."""
MOST_ATTEMPTS, MOST_HELD = 10**9, 10**6
"""No machine has a million GPUs, CPUs or GB, and products with seconds fit 64 bits."""
_ONE_JOB = "Every row is for one job on one machine."
_WRITE_TIME = "Write it as 2026-10-01T00:00:00Z, or leave `ended` empty while the job runs."


def recognize(head: Head) -> bool:
    decisive = {"job_id", "machine_id", "started"}.union(*OTHER_FILES)
    found = columns_among(head, tuple(decisive))
    is_table = not head.is_parquet and not head.is_json
    has_jobs = {"job_id", "machine_id"} <= found or (is_table and {"job_id", "started"} <= found)
    return has_jobs and not any(columns <= found for columns in OTHER_FILES)


def _state(raw: RawTable, zone: str) -> str:
    known = ", ".join(quoted(state) for state in STATES)
    running = f"CASE WHEN {raw.timestamp('ended')} IS NULL THEN 'running' ELSE 'unknown' END"
    return f"CASE WHEN {_state_word(raw)} IN ({known}) THEN {_state_word(raw)} ELSE {running} END"


def _state_word(raw: RawTable) -> str:
    """Return SQL for the state in lower case; the British spelling of a canceled job is accepted."""
    return f"regexp_replace(lower({raw.text('state')}), '^cancell?ed$', 'canceled')"


def _cluster(raw: RawTable, zone: str) -> str:
    return f"nullif(trim({raw.text('cluster')}), '')"


def _labels(raw: RawTable, zone: str) -> str:
    """Return SQL for all unknown columns as one JSON object without nulls; an unknown state is kept too."""
    unknown = [written for name, (written, _) in raw.columns.items() if name not in COLUMNS]
    labels = [(written, raw.text(written)) for written in unknown]
    if raw.has("state"):
        known = ", ".join(quoted(state) for state in STATES)
        labels.append(("state", f"CASE WHEN {_state_word(raw)} NOT IN ({known}) THEN {raw.text('state')} END"))
    if not labels:
        return "CAST(NULL AS VARCHAR)"
    pairs = ", ".join(f"{quoted(name)}, {value}" for name, value in labels)
    return f"nullif(CAST(json_merge_patch('{{}}', json_object({pairs})) AS VARCHAR), '{{}}')"


FILE = TableFile(
    PLACEMENTS,
    fields=(
        Name("job_id", _ONE_JOB),
        Name("machine_id", _ONE_JOB),
        Number(
            "attempt",
            "INTEGER",
            MOST_ATTEMPTS,
            "Count attempts from 1.",
            noun="a whole number",
            least=1,
            required=EVERY_ROW,
        ),
        Time("started", _WRITE_TIME, required=EVERY_ROW),
        Time("ended", _WRITE_TIME, column_required=True),
        Time("submitted", "Write it as 2026-10-01T00:00:00Z, or leave it empty."),
        *(
            Number(
                name,
                type_of(PLACEMENTS, name),
                MOST_HELD,
                "Write how much was held, such as 8 or 0.5, or leave it empty.",
                least=0,
                do_least="Write 0 or more, or leave it empty.",
            )
            for name in AMOUNTS
        ),
    ),
    checks=(OrderedTimes("started", "ended", "Check the clock and the time zone."),),
    computed=dict.fromkeys(LOG_COLUMNS, lambda raw, zone: "NULL")
    | {"state": _state, "labels": _labels, "log_cluster": _cluster},
)
archive, rows = FILE.archive, placements.rows
