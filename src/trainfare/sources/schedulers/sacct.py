"""Slurm: output of `sacct --parsable2` (or `--parsable`) -> placements.

- Without `--duplicates` sacct shows only the last run of a job that was requeued, preempted or lost its node, and the
  cost of the earlier runs is nowhere. A column Restarts, if there, at least gives the last run its number.
- Steps (`1.batch`, `1.0`) repeat what their job held and are skipped, as is a job that never started.
- Times are local time without a zone, so the zone comes from the config; `SLURM_TIME_FORMAT=%s` and times with an
  offset are read too.
- Nothing is quoted: JobName, Comment and SubmitLine may hold the separator and even line breaks.
- WCKey has a `*` in front where it is the user's default; the state says who cancelled (`CANCELLED by 1002`).
- JobIDRaw knows neither arrays nor heterogeneous jobs, so it is used only where there is no JobID.
"""

import re

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.places import Place
from trainfare.sources.head import Head, look
from trainfare.sources.schedulers import slurm_runs
from trainfare.sources.schedulers.slurm_runs import EXPORT, NO_NODES, PACKAGE, TOLD

NAME = "sacct"
KIND = "jobs"
READS = "Slurm: output of sacct --parsable2 (with --duplicates to see every run)"

JOB_IDS = ("JobID", "JobIDRaw")
REQUIRED = ("State", "Start", "End", "AllocTRES", "NodeList")
OPTIONAL = (
    "Submit",
    "ElapsedRaw",
    "Elapsed",
    "Suspended",
    "Restarts",
    "User",
    "Account",
    "WCKey",
    "Comment",
    "Partition",
    "QOS",
    "JobName",
    "Cluster",
)
NOT_IN_THE_FILE = "Take it out; if it tells of an error, export again, as jobs may be missing. `2> messages.txt` keeps messages apart."
SPLIT = "A | or a line break in free text splits a line: leave JobName, Comment and SubmitLine out of --format."
FREE_TEXT = ("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Container", "Extra")

_TIME = "Unknown|None|N/A|[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}[Z0-9:+-]*|"
_TRES = "([a-z]+(/[^,=]+)?=[^,=]+(,[a-z]+(/[^,=]+)?=[^,=]+)*)?"
_LOOKS = {
    "JobID": r"[0-9]+([_+][^. ]+)?([.][a-z0-9_+]+)?",
    "JobIDRaw": r"[0-9]+([.][a-z0-9_+]+)?",
    "State": r"[A-Z_]+( by [^ ]+)?",
    "Start": _TIME,
    "End": _TIME,
    "Submit": _TIME,
    "Eligible": _TIME,
    "ElapsedRaw": r"[0-9]*",
    "AllocTRES": _TRES,
    "ReqTRES": _TRES,
    "NNodes": r"[0-9]*",
    "NCPUS": r"[0-9]*",
    "DBIndex": r"[0-9]*",
    "AssocID": r"[0-9]*",
    "SubmitLine": r"(([^ ]*/)?(sbatch|srun|salloc|scrontab)( .*)?)?",
    "WorkDir": r"(/.*)?",
    "": "",
}
"""What a column reads like: how a mended record is told from a wrongly mended one."""

_STATE = r"(COMPLETED|FAILED|TIMEOUT|CANCELLED|PREEMPTED|NODE_FAIL|OUT_OF_MEMORY|RUNNING|PENDING|REQUEUED|RESIZING)( by [^ ]+)?"
_CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}[Z0-9:+-]*|[0-9]{9,11}"
_MESSAGE = r"(sacct|slurm[a-z_]*): "
"""How a line starts that sacct means for the terminal and that a redirection of both outputs puts into the file."""
LINES_BEFORE_HEADER = 20
_NOTHING = "'Unknown', 'None', 'N/A', '0', ''"


def recognise(head: Head) -> bool:
    """Know sacct by its header, also one that lacks columns or was exported for the eye; without one, by messages and records."""
    if head.is_json:
        return False
    lines = head.text.splitlines()[:LINES_BEFORE_HEADER]
    return _header_line(lines) is not None or _is_headless(lines)


def read(engine: DuckDB, path: Place, into: str, zone: str, faults: Faults) -> None:
    """Make `into` the placements in the file; whatever cannot be read becomes a fault with its line."""
    slurm_runs.nothing(engine, into)
    if not _read_lines(engine, path, faults):
        return
    first = engine.rows(f"SELECT text FROM sacct_lines ORDER BY line LIMIT {LINES_BEFORE_HEADER}")
    lines = [text for (text,) in first]
    if _header_line(lines) != 0:
        _tell_what_is_no_header(path, lines, faults)
    elif _has_columns(path, lines[0], faults):
        _take_records(engine, path, lines[0], faults)
        _take_times(engine, path, zone, faults)
        slurm_runs.place(engine, into, faults, lambda line: f"{path}:{line}")
    engine.drop("sacct_lines")


def _header_line(lines: list[str]) -> int | None:
    """The place of the header among these lines; before it there may be messages, but nothing that has columns."""
    for place, line in enumerate(lines):
        if _is_header(line):
            return place
        if "|" in line:
            return None
    return None


def _is_header(line: str) -> bool:
    names = set(re.split(r"\||\s+", line.strip()))
    if names & set(JOB_IDS):
        return bool(names & {*REQUIRED, *OPTIONAL})
    return len(set(line.strip().split("|")) & set(REQUIRED)) > 1


def _is_headless(lines: list[str]) -> bool:
    """Whether the first line that says anything is a message of sacct, or a record of a job."""
    said = next((line for line in lines if line.strip()), "")
    cells = said.split("|")
    looks = (_LOOKS["JobID"], _STATE, _CLOCK)
    is_record = all(any(re.fullmatch(look, cell) for cell in cells) for look in looks)
    return said.startswith("sacct: ") or is_record


def _tell_what_is_no_header(path: Place, lines: list[str], faults: Faults) -> None:
    """Every line that stands where the header belongs is a fault."""
    header = _header_line(lines)
    for number, line in enumerate(lines[:header], start=1):
        if not line.strip():
            faults.add(f"{path}:{number}", "this line is blank", "Take it out: the first line is the header.")
        elif header is not None or re.match(_MESSAGE, line):
            faults.add(f"{path}:{number}", "this is a message, not the header of sacct", NOT_IN_THE_FILE)
        else:
            faults.add(f"{path}:{number}", "there is no header line", f"Leave --noheader out. {EXPORT}")
            return


def _has_columns(path: Place, header: str, faults: Faults) -> bool:
    columns = header.split("|")
    missing = [name for name in REQUIRED if name not in columns]
    if not set(JOB_IDS) & set(columns):
        missing.insert(0, "JobID")
    if len(columns) == 1:
        faults.add(f"{path}:1", "the columns are not separated by |", EXPORT)
    elif missing:
        faults.add(f"{path}:1", f"no column {', '.join(missing)}", EXPORT)
    return len(columns) > 1 and not missing


def _read_lines(engine: DuckDB, path: Place, faults: Faults) -> bool:
    """Make `sacct_lines` of the file as it is, or say why it is not text."""
    packed = "gzip" if look(path).is_gzip else "none"
    try:
        engine.table(
            "sacct_lines",
            f"""SELECT row_number() OVER () AS line, coalesce(text, '') AS text FROM read_csv({quoted(path)},
            columns = {{'text': 'VARCHAR'}}, auto_detect = false, header = false, delim = e'\\x01\\x02', quote = '',
            escape = '', strict_mode = false, max_line_size = 33554432, compression = {quoted(packed)})""",
        )
    except duckdb.IOException:
        faults.add(str(path), "the gzip file is damaged", "Export or copy it again.")
        return False
    except duckdb.InvalidInputException as error:
        line = re.search(r"Line: (\d+)", str(error))
        faults.add(f"{path}:{line[1] if line else 1}", "this is not UTF-8 text", "Save or export it as UTF-8.")
        return False
    return True


def _take_records(engine: DuckDB, path: Place, header: str, faults: Faults) -> None:
    """Make `sacct_rows`: one row per job record that started, in Slurm's words."""
    engine.step(PACKAGE, "sacct_records", "sacct_records", _record_fragments(header))
    width = header.count("|") + 1
    is_message = f"regexp_matches(text, {quoted('^' + _MESSAGE)})"
    broken = f"""(SELECT line, CASE WHEN {is_message} THEN 'this is a message of sacct, not a job'
          WHEN width = {width} THEN 'a line break that fits into no column of free text'
          ELSE format('{{}} columns where the header has {width}', width) END AS what,
        CASE WHEN {is_message} THEN {quoted(NOT_IN_THE_FILE)} ELSE {quoted(SPLIT)} END AS "do"
        FROM sacct_records JOIN sacct_lines USING (line) WHERE told IS NULL)"""
    slurm_runs.report(engine, broken, faults, lambda line: f"{path}:{line}")
    names = ("JobID", *REQUIRED, *OPTIONAL)
    told = ", ".join(f"NULLIF(trim(told[{place}]), '') AS \"{name}\"" for place, name in enumerate(names, start=1))
    engine.table(
        "sacct_rows",
        f"""SELECT *,
          CASE WHEN "Start" NOT IN ({_NOTHING}) THEN "Start" END AS start_text,
          CASE WHEN "End" NOT IN ({_NOTHING}) THEN "End" END AS end_text,
          CASE WHEN "Submit" NOT IN ({_NOTHING}) THEN "Submit" END AS submit_text,
          coalesce(CAST(TRY_CAST("ElapsedRaw" AS INTEGER) AS BIGINT), {_seconds("Elapsed")})
            + coalesce({_seconds("Suspended")}, 0) AS wall_seconds
        FROM (SELECT line, {told} FROM sacct_records WHERE told IS NOT NULL)
        WHERE "JobID" IS NULL OR (NOT contains("JobID", '.') AND start_text IS NOT NULL)""",
    )
    engine.drop("sacct_records")


def _record_fragments(header: str) -> dict[str, str]:
    columns = header.split("|")
    looks = [_LOOKS.get(name, ".*" if name in FREE_TEXT else r"[^|\n]*") for name in columns]
    free = [place for place, name in enumerate(columns, start=1) if name in FREE_TEXT]
    lead = looks[: free[0] - 1] if free else looks
    opens = r"^" + r"\|".join(f"({look})" for look in lead[:3]) + r"\|"
    job = next(name for name in JOB_IDS if name in columns)
    told = [f"fields[{columns.index(name) + 1}]" if name in columns else "NULL" for name in (job, *REQUIRED, *OPTIONAL)]
    return {
        "header": quoted(header),
        "width": str(len(columns)),
        "opens": quoted(opens if set(columns[: len(lead[:3])]) & set(JOB_IDS) else "^$"),
        "free": f"CAST([{', '.join(map(str, free))}] AS BIGINT[])",
        "told": f"[{', '.join(told)}]",
        "row": quoted("\x1f".join(f"({look})" for look in looks)),
    }


def _seconds(column: str) -> str:
    """SQL for a time span such as `1-02:03:04` in seconds; null where it is none."""
    return f"CAST(epoch(TRY_CAST(replace(\"{column}\", '-', ' days ') AS INTERVAL)) AS BIGINT)"


def _take_times(engine: DuckDB, path: Place, zone: str, faults: Faults) -> None:
    """Make `slurm_told` of `sacct_rows`, with times in UTC; a time that cannot be read is a fault."""
    engine.step(PACKAGE, "sacct_moments", "sacct_moments", {"zone": quoted(zone)})
    engine.step(PACKAGE, "sacct_spans", "sacct_spans")
    untimed = """(SELECT line, what, 'Export with SLURM_TIME_FORMAT=%s, which writes seconds since 1970.' AS "do"
        FROM sacct_spans WHERE what IS NOT NULL)"""
    slurm_runs.report(engine, untimed, faults, lambda line: f"{path}:{line}")
    engine.table(
        TOLD,
        f"""SELECT line, "JobID" AS job, "State" AS state, started, ended, submitted,
          CASE WHEN "NodeList" NOT IN ({NO_NODES}) THEN "NodeList" END AS nodes, "AllocTRES" AS tres,
          TRY_CAST("Restarts" AS SMALLINT) AS restarts, "User" AS owner, "Account" AS team,
          NULLIF(ltrim("WCKey", '*'), '') AS cost_center, "Comment" AS comment, "Partition" AS "partition",
          "QOS" AS qos, "JobName" AS job_name, "Cluster" AS cluster
        FROM sacct_rows LEFT JOIN sacct_spans USING (line) WHERE what IS NULL""",
    )
    engine.drop("sacct_rows", "sacct_moments", "sacct_spans")
