"""Slurm: output of `sacct --parsable2` (or `--parsable`) -> placements.

- Without `--duplicates` sacct shows only the last run of a job that was requeued, preempted or lost its node, and the
  cost of the earlier runs is lost. A column Restarts, if present, at least gives the last run its number.
- Steps (`1.batch`, `1.0`) repeat what their job held and are skipped, as is a job that never started.
- Times are local time without a zone, so the zone comes from the settings; `SLURM_TIME_FORMAT=%s` and times with an
  offset are read too.
- Nothing is quoted: JobName, Comment and SubmitLine may contain the separator and even line breaks.
- Fields change: 24.11 has Planned instead of Reserved, and asking for a field that is gone gives no rows at all.
- WCKey starts with `*` if it is the user's default; the state says who cancelled (`CANCELLED by 1002`).
- JobIDRaw shows neither arrays nor heterogeneous jobs, so it is used only if there is no JobID.
"""

import re
from collections.abc import Callable

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.head import Head, Unit
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ReadOptions
from trainfare.sources.rows import missing_columns
from trainfare.sources.schedulers import placements, slurm_runs
from trainfare.sources.schedulers.slurm_runs import EXPORT, NO_NODES, PACKAGE, RECORDS

NAME = "sacct"
KIND = Kind.JOBS
VERSION = "6"
DESCRIPTION = "Slurm: output of sacct --parsable2 (with --duplicates to see every run)"

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
REMOVE_MESSAGE = (
    "Remove it; if it reports an error, export again, as jobs may be missing. "
    "`2> messages.txt` keeps messages out of the file."
)
BROKEN_TEXT = "A | or a line break in free text breaks a line: omit JobName, Comment and SubmitLine from --format."
FREE_TEXT = ("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Container", "Extra")

_TIME = "Unknown|None|N/A|[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}[Z0-9:+-]*|"
_TRES = "([a-z]+(/[^,=]+)?=[^,=]+(,[a-z]+(/[^,=]+)?=[^,=]+)*)?"
_PATTERNS = {
    "JobID": r"[0-9]+([_+][^. ]+)?([.][a-z0-9_+]+)?",
    "JobIDRaw": r"[0-9]+([.][a-z0-9_+]+)?",
    "State": r"[A-Z_]+( by [^ ]+)?",
    "Start": _TIME,
    "End": _TIME,
    "Submit": _TIME,
    "Eligible": _TIME,
    "ElapsedRaw": r"[0-9]*",
    **dict.fromkeys(("Elapsed", "Suspended", "TotalCPU", "UserCPU", "SystemCPU"), r"([0-9]+-)?[0-9:.]*"),
    "Restarts": r"[0-9]*",
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
"""Patterns of column values, by which a correctly repaired record is distinguished from a wrong one."""

_STATE = (
    r"(COMPLETED|FAILED|TIMEOUT|CANCELLED|PREEMPTED|NODE_FAIL|OUT_OF_MEMORY|RUNNING|PENDING|REQUEUED|RESIZING)"
    r"( by [^ ]+)?"
)
_CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}[Z0-9:+-]*|[0-9]{9,11}"
_MESSAGE = r"(sacct|slurm[a-z_]*): "
"""The start of a line that sacct prints for the terminal, and that redirecting both outputs puts into the file."""
LINES_BEFORE_HEADER = 20
_NO_TIME = "'Unknown', 'None', 'N/A', '0', '4294967294', '4294967295', ''"


def recognize(head: Head) -> bool:
    """Recognize sacct by its header, even with missing columns or other separators, or by its messages and records."""
    if head.is_json:
        return False
    lines = head.text.splitlines()[:LINES_BEFORE_HEADER]
    return _header_line(lines) is not None or _is_headless(lines)


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    before = len(problems.found)
    read(engine, head, "sacct_placements", options.zone, problems)
    if len(problems.found) > before:
        return 0
    return placements.archive_table(engine, head, "sacct_placements", target, problems)


rows = placements.rows


def read(engine: DuckDB, head: Head, into: str, zone: str, problems: Problems) -> None:
    """Create table `into` with the placements in the file; whatever cannot be read is a problem with its line."""
    path = head.path
    placements.empty(engine, into)
    if not _read_lines(engine, head, problems):
        return
    first = engine.rows(f"SELECT text FROM sacct_lines ORDER BY line LIMIT {LINES_BEFORE_HEADER}")
    lines = [text for (text,) in first]
    if _header_line(lines) != 0:
        _report_lines_before_header(path, lines, problems)
    elif _has_columns(path, lines[0], problems):
        _read_records(engine, path, lines[0], problems)
        read_times(engine, zone, problems, lambda line: f"{path}:{line}")
        slurm_runs.create_placements(engine, into, problems, lambda line: f"{path}:{line}")
    engine.drop("sacct_lines")


def _header_line(lines: list[str]) -> int | None:
    """Return the index of the header; it may follow messages, but no line with columns."""
    for index, line in enumerate(lines):
        if _is_header(line):
            return index
        if "|" in line:
            return None
    return None


def _is_header(line: str) -> bool:
    names = set(re.split(r"[|,;]|\s+", line.strip()))
    if names & set(JOB_IDS):
        return bool(names & {*REQUIRED, *OPTIONAL})
    return len(set(line.strip().split("|")) & set(REQUIRED)) > 1


def _is_headless(lines: list[str]) -> bool:
    """Return whether the first line that is not blank is a message of sacct or the record of a job."""
    first = next((line for line in lines if line.strip()), "")
    cells = first.split("|")
    patterns = (_PATTERNS["JobID"], _STATE, _CLOCK)
    is_record = all(any(re.fullmatch(pattern, cell) for cell in cells) for pattern in patterns)
    return first.startswith("sacct: ") or is_record


def _report_lines_before_header(path: Location, lines: list[str], problems: Problems) -> None:
    """Report every line in the place of the header."""
    header = _header_line(lines)
    for number, line in enumerate(lines[:header], start=1):
        if not line.strip():
            problems.add(
                f"{path}:{number}", "blank line before the header", "Remove it: the first line must be the header."
            )
        elif header is not None or re.match(_MESSAGE, line):
            problems.add(f"{path}:{number}", "a message of sacct before the header", REMOVE_MESSAGE)
        else:
            problems.add(f"{path}:{number}", "no header line", f"Omit --noheader. {EXPORT}")
            return


def _has_columns(path: Location, header: str, problems: Problems) -> bool:
    columns = header.split("|")
    missing = [name for name in REQUIRED if name not in columns]
    if not set(JOB_IDS) & set(columns):
        missing.insert(0, "JobID")
    if len(columns) == 1:
        problems.add(f"{path}:1", "looks like sacct output, but its columns are not separated by |", EXPORT)
    elif missing:
        problems.add(f"{path}:1", missing_columns(missing), EXPORT)
    return len(columns) > 1 and not missing


def _read_lines(engine: DuckDB, head: Head, problems: Problems) -> bool:
    """Create `sacct_lines` from the file as it is, or report why it is not text."""
    path, compression = head.content, "gzip" if head.is_gzip else "none"
    try:
        engine.table(
            "sacct_lines",
            f"""SELECT row_number() OVER () AS line, coalesce(text, '') AS text FROM read_csv({quoted(path)},
            columns = {{'text': 'VARCHAR'}}, auto_detect = false, header = false, delim = e'\\x01\\x02', quote = '',
            escape = '', strict_mode = false, max_line_size = 33554432, compression = {quoted(compression)})""",
        )
    except duckdb.IOException:
        problems.add(str(path), "the gzip file is damaged or truncated", "Export or copy it again.")
        return False
    except duckdb.InvalidInputException as error:
        line = re.search(r"Line: (\d+)", str(error))
        where = f"{path}:{line[1] if line else 1}"
        if "Maximum line size" in str(error):
            problems.add(where, "the line is longer than 32 MB", BROKEN_TEXT)
        else:
            problems.add(where, "not UTF-8 text", "Save or export it as UTF-8.")
        return False
    head.tally.record(Unit.LINES, engine.row("SELECT count(*) FROM sacct_lines")[0])
    return True


def _read_records(engine: DuckDB, path: Location, header: str, problems: Problems) -> None:
    """Create `sacct_rows`: one row per record of a job that started, in Slurm's own terms."""
    engine.step(PACKAGE, "sacct_records", "sacct_records", _record_fragments(header))
    width = header.count("|") + 1
    is_message = f"regexp_matches(text, {quoted('^' + _MESSAGE)})"
    broken = f"""(SELECT line, CASE WHEN {is_message} THEN 'a message of sacct, not a job'
          WHEN width = {width} THEN 'a line break outside of free text'
          ELSE format('{{}} columns where the header has {width}', width) END AS what,
        CASE WHEN {is_message} THEN {quoted(REMOVE_MESSAGE)} ELSE {quoted(BROKEN_TEXT)} END AS "do"
        FROM sacct_records JOIN sacct_lines USING (line) WHERE cells IS NULL)"""
    slurm_runs.report(engine, broken, problems, lambda line: f"{path}:{line}")
    names = ("JobID", *REQUIRED, *OPTIONAL)
    columns = ", ".join(f"NULLIF(trim(cells[{n}]), '') AS \"{name}\"" for n, name in enumerate(names, start=1))
    engine.table("sacct_rows", started_rows(f"SELECT line, {columns} FROM sacct_records WHERE cells IS NOT NULL"))
    engine.drop("sacct_records")


def started_rows(records: str) -> str:
    """Return a SELECT of the records of jobs that started, of a SELECT with `line` and all columns of sacct as text."""
    return f"""SELECT *,
          CASE WHEN "Start" NOT IN ({_NO_TIME}) THEN "Start" END AS start_text,
          CASE WHEN "End" NOT IN ({_NO_TIME}) THEN "End" END AS end_text,
          CASE WHEN "Submit" NOT IN ({_NO_TIME}) THEN "Submit" END AS submit_text,
          coalesce(CAST(TRY_CAST("ElapsedRaw" AS INTEGER) AS BIGINT), {_seconds("Elapsed")})
            + coalesce({_seconds("Suspended")}, 0) AS wall_seconds
        FROM ({records})
        WHERE "JobID" IS NULL OR (NOT contains("JobID", '.') AND start_text IS NOT NULL)"""


def _record_fragments(header: str) -> dict[str, str]:
    """Return what `sacct_records.sql` needs to know about the columns of this file."""
    columns = header.split("|")
    patterns = [_PATTERNS.get(name, ".*" if name in FREE_TEXT else r"[^|\n]*") for name in columns]
    free = [index for index, name in enumerate(columns, start=1) if name in FREE_TEXT]
    lead = patterns[: free[0] - 1] if free else patterns
    opening = r"^" + r"\|".join(f"({pattern})" for pattern in lead[:3]) + r"\|"
    job = next(name for name in JOB_IDS if name in columns)
    names = (job, *REQUIRED, *OPTIONAL)
    cells = [f"fields[{columns.index(name) + 1}]" if name in columns else "NULL" for name in names]
    return {
        "header": quoted(header),
        "width": str(len(columns)),
        "opening": quoted(opening if set(columns[: len(lead[:3])]) & set(JOB_IDS) else "^$"),
        "free_text": f"CAST([{', '.join(map(str, free))}] AS BIGINT[])",
        "cells": f"[{', '.join(cells)}]",
        "record_pattern": quoted("\x1f".join(f"({pattern})" for pattern in patterns)),
    }


def _seconds(column: str) -> str:
    """Return SQL for a duration such as `1-02:03:04` in seconds; null if it is not one."""
    return f"CAST(epoch(TRY_CAST(replace(\"{column}\", '-', ' days ') AS INTERVAL)) AS BIGINT)"


def read_times(engine: DuckDB, zone: str, problems: Problems, where: Callable[[int], str]) -> None:
    """Create `slurm_records` from `sacct_rows`, with times in UTC; a time that cannot be read is a problem."""
    engine.step(PACKAGE, "sacct_times", "sacct_times", {"zone": quoted(zone)})
    engine.step(PACKAGE, "sacct_spans", "sacct_spans")
    untimed = """(SELECT line, what, 'Export with SLURM_TIME_FORMAT=%s, which writes seconds since 1970.' AS "do"
        FROM sacct_spans WHERE what IS NOT NULL)"""
    slurm_runs.report(engine, untimed, problems, where)
    engine.table(
        RECORDS,
        f"""SELECT line, "JobID" AS job, "State" AS state, started, ended, submitted,
          CASE WHEN "NodeList" NOT IN ({NO_NODES}) THEN "NodeList" END AS nodes, "AllocTRES" AS tres,
          TRY_CAST("Restarts" AS SMALLINT) AS restarts, "User" AS owner, "Account" AS team,
          NULLIF(ltrim("WCKey", '*'), '') AS cost_center, "Comment" AS comment, "Partition" AS "partition",
          "QOS" AS qos, "JobName" AS job_name, "Cluster" AS cluster
        FROM sacct_rows LEFT JOIN sacct_spans USING (line) WHERE what IS NULL""",
    )
    engine.drop("sacct_rows", "sacct_times", "sacct_spans")
