"""Events that training code reports about itself: JSON lines, one CloudEvent 1.0 per line.

The SDK and `trainfare run` write such files; [the event format](events.md) lists every type and field. An event counts
once, however often and in whatever files it arrives: it is identified by `source` and `id`. Times need an offset. Of a
file that is still being written, or whose writer was killed, an incomplete last line is not there yet.

Events become placements where no job log names the attempt (the scheduler's start and end take precedence),
checkpoints, steps and usage, and labels where the log has none. An attempt without an end event counts up to its last
event. Events of unknown types, or of a later version, are kept and counted in a finding.
"""

from trainfare.engine.duckdb import DuckDB, parquet, quoted, step_text
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.fields import Name, Time
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import RawTable, describe_table, require_columns, translate_errors
from trainfare.sources.rows import identifier, open_json
from trainfare.sources.table_file import write_archive
from trainfare.sources.telemetry import event_format
from trainfare.sources.telemetry.event_format import DECLARED, EVENT_NOTES
from trainfare.tables import LABELS, MEASURES, PLACEMENTS, STATES, USAGE, Table

NAME = "events"
KIND = Kind.JOBS
VERSION = "1"
DESCRIPTION = "Trainfare events: JSON lines of CloudEvents with id, source, type, time, data"

PACKAGE = "trainfare.sources.telemetry"
REQUIRED = ("id", "source", "type", "time")
ATTRIBUTES = (*REQUIRED, "data")
STATED_MEASURES = tuple(name for name in MEASURES if name not in ("checkpoint", "step"))
"""The measures that a usage event may state; the others have events of their own."""
_WRITE_TIME = "Write it with its offset, as in 2026-10-01T00:00:00Z."
_OFFSET = r"(Z|z|[+-][0-9]{2}:?[0-9]{2})$"
_EVENT_ID = "Every event has an id that no other event of its source has."
_SEE = "See docs/reference/events.md for the fields of each type."
_MOST = {"attempt": 10**9, "gpus": 10**6, "seq": 10**18, "step": 10**18}


def recognize(head: Head) -> bool:
    return head.is_json and ('"specversion"' in head.text or f'"{event_format.PREFIX}' in head.text)


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    before = len(problems.found)
    with translate_errors(head, problems):
        if not open_json(engine, head, "delivered_events", problems, may_be_torn=True):
            return 0
        raw = describe_table(engine, "delivered_events", head.path)
        if not require_columns(raw, REQUIRED, ATTRIBUTES, problems, _SEE):
            return 0
        _check_attributes(raw, problems)
        fields = _extract_fields(engine, raw)
        _check_data(fields, problems)
        _check_same_content(fields, problems)
    return write_archive(engine, head, _select(fields), target, problems) if len(problems.found) == before else 0


def rows(engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
    """Return a SELECT of placements, usage or notes. All placements are declared, so both tables get the same one."""
    events = parquet(file.location)
    spans = step_text(PACKAGE, "event_spans", {"events": events})
    if table is USAGE:
        fragments = {"spans": spans, "measures": _listed(STATED_MEASURES)}
        return USAGE.typed_select(f"({step_text(PACKAGE, 'event_usage', fragments)})")
    if table is EVENT_NOTES:
        text = step_text(PACKAGE, "event_notes", {"spans": spans, "events": events})
        return EVENT_NOTES.typed_select(f"({text})")
    if table not in (PLACEMENTS, DECLARED):
        return None
    fragments = {
        "spans": spans,
        "label_columns": "".join(f", max(CASE WHEN key = {quoted(n)} THEN label_value END) AS {n}" for n in LABELS),
        "label_names": _listed(LABELS),
        "labels": "".join(f", l.{name}" for name in LABELS),
    }
    return PLACEMENTS.typed_select(f"({step_text(PACKAGE, 'event_placements', fragments)})")


def _check_attributes(raw: RawTable, problems: Problems) -> None:
    for name, do in (("id", _EVENT_ID), ("source", "Every event names who sent it."), ("type", _SEE)):
        Name(name, do).check_presence(raw, problems)
    time = Time("time", _WRITE_TIME, required="Every event has a time.")
    time.check_presence(raw, problems)
    time.check_values(raw, "UTC", problems)
    _check_offset(raw, "time", problems, raw.described("time"))
    if raw.has("data"):
        bad = f"data IS NOT NULL AND NOT {_is_object('data')}"
        raw.check(problems, bad, f"{raw.described('data')} || ' is not a JSON object'", _SEE)


def _check_offset(raw: RawTable, name: str, problems: Problems, described: str, only: str = "true") -> None:
    """A time without an offset could be any of 26 hours; clocks of training machines are not all in UTC."""
    text = raw.text(name)
    is_clock = f"TRY_CAST({text} AS TIMESTAMP) IS NOT NULL"
    bad = f"({only}) AND {is_clock} AND NOT regexp_matches({text}, {quoted(_OFFSET)})"
    raw.check(problems, bad, f"{described} || ' has no offset from UTC'", _WRITE_TIME)


def _extract_fields(engine: DuckDB, raw: RawTable) -> RawTable:
    """Make `event_fields`. Attributes that the format does not have are kept together as JSON."""
    others = [written for name, (written, _) in raw.columns.items() if name not in (*ATTRIBUTES, "specversion")]
    pairs = ", ".join(f"{quoted(name)}, {identifier(name)}" for name in others)
    attributes = f"CAST(json_object({pairs}) AS VARCHAR)" if others else "CAST(NULL AS VARCHAR)"
    known = ", ".join(f"{raw.text(name)} AS {name}" for name in REQUIRED)
    data, is_readable = "CAST(NULL AS VARCHAR)", "true"
    if raw.has("data"):
        data, is_readable = _object("data"), f"data IS NULL OR {_is_object('data')}"
    known += f", {data} AS data, {is_readable} AS is_readable"
    engine.view("event_lines", f"SELECT line, {known}, {attributes} AS attributes FROM {raw.relation}")
    engine.step(PACKAGE, "event_fields", "event_fields", {"types": _listed(event_format.TYPES)})
    return describe_table(engine, "event_fields", raw.path)


def _check_data(fields: RawTable, problems: Problems) -> None:
    """Check the fields of known events; those of others are whatever their authors say."""
    for name, do in (("job", "Every event is about one job."), ("machine", "Every event names its machine.")):
        empty = f"is_known AND coalesce(trim({name}), '') = ''"
        fields.check(problems, empty, quoted(f"data.{name} is empty"), do)
    _check_whole(fields, problems, "attempt", "is_known", 1, "Count attempts from 1.")
    with_steps = _listed(event_format.WITH_STEP)
    _check_whole(fields, problems, "step", f"is_known AND type IN ({with_steps})", 0, "Write the number of the step.")
    _check_whole(fields, problems, "seq", "is_known AND seq IS NOT NULL", 1, "Number the events of a process from 1.")
    gpus = "TRY_CAST(gpus AS DECIMAL(18,6))"
    bad = f"is_known AND gpus IS NOT NULL AND NOT coalesce({gpus} >= 0 AND {gpus} < {_MOST['gpus']}, false)"
    do = "Write how many GPUs the attempt holds on this machine, such as 8 or 0.5, or leave it out."
    fields.check(problems, bad, f"{_described(fields, 'gpus')} || ' is not a number of GPUs'", do)
    _check_started(fields, problems)
    _check_objects(fields, problems)


def _check_whole(fields: RawTable, problems: Problems, name: str, only: str, least: int, do: str) -> None:
    is_whole = f"regexp_full_match({name}, '[0-9]{{1,18}}') AND TRY_CAST({name} AS BIGINT) BETWEEN {least} AND {_MOST[name] - 1}"
    fields.check(problems, f"{only} AND {name} IS NULL", quoted(f"data.{name} is empty"), do)
    bad = f"{only} AND {name} IS NOT NULL AND NOT coalesce({is_whole}, false)"
    fields.check(problems, bad, f"{_described(fields, name)} || {quoted(f' is not a whole number from {least}')}", do)


def _check_started(fields: RawTable, problems: Problems) -> None:
    is_given = "is_known AND started IS NOT NULL"
    started, time = fields.timestamp("started"), fields.timestamp("time")
    unreadable = f"{is_given} AND ({started}) IS NULL"
    fields.check(problems, unreadable, f"{_described(fields, 'started')} || ' is not a time'", _WRITE_TIME)
    _check_offset(fields, "started", problems, _described(fields, "started"), is_given)
    late = f"{is_given} AND ({started}) > ({time})"
    fields.check(problems, late, f"{_described(fields, 'started')} || ' is after the event'", "Check the clock.")


def _check_objects(fields: RawTable, problems: Problems) -> None:
    """Labels are flat, and usage has values that are numbers."""
    for name in ("labels", "native"):
        is_nested = f"EXISTS (SELECT 1 FROM json_each({_object(name)}) WHERE type IN ('OBJECT', 'ARRAY'))"
        bad = f"is_known AND {name} IS NOT NULL AND CASE WHEN {_is_object(name)} THEN {is_nested} ELSE true END"
        what = f"{_described(fields, name)} || ' is not an object of texts'"
        fields.check(problems, bad, what, 'Write {"team": "vision", "project": "segmentation"}.')
    values, usage = identifier("values"), f"is_known AND type = {quoted(event_format.USAGE)}"
    fields.check(problems, f"{usage} AND {values} IS NULL", quoted("data.values is empty"), _SEE)
    number = "TRY_CAST(json_extract_string(value, '$') AS DECIMAL(26,6))"
    wrong = f"key IN ({_listed(STATED_MEASURES)}) AND NOT coalesce({number} BETWEEN 0 AND {10**18 - 1}, false)"
    is_wrong = f"EXISTS (SELECT 1 FROM json_each({_object('values')}) WHERE {wrong})"
    bad = f"{usage} AND {values} IS NOT NULL AND CASE WHEN {_is_object('values')} THEN {is_wrong} ELSE true END"
    do = 'Write measured values of 0 or more, as in {"gpu_busy_seconds": 1200}.'
    fields.check(problems, bad, f"{_described(fields, 'values')} || ' has a value that is no measurement'", do)


def _check_same_content(fields: RawTable, problems: Problems) -> None:
    """An event may arrive twice, but the same id must not stand for two events."""
    first = "SELECT source, id, arg_min(hash(type, time, data), line) AS content, min(line) AS line "
    first += (
        f"FROM {fields.relation} GROUP BY source, id HAVING min(hash(type, time, data)) <> max(hash(type, time, data))"
    )
    bad = (
        f"EXISTS (SELECT 1 FROM ({first}) f WHERE f.source = {fields.relation}.source AND f.id = {fields.relation}.id "
    )
    bad += f"AND f.content <> hash({fields.relation}.type, {fields.relation}.time, {fields.relation}.data))"
    fields.check(problems, bad, f"{fields.described('id')} || ' stands for another event, too'", _EVENT_ID)


def _select(fields: RawTable) -> str:
    """Return the archived form of the events: each once, with whatever was not recognized."""
    states = _listed(STATES)
    return (
        f"SELECT line, source, id, type, {fields.timestamp('time')} AS time, is_known, job AS job_id, "
        "TRY_CAST(attempt AS INTEGER) AS attempt, machine AS machine_id, TRY_CAST(seq AS BIGINT) AS seq, "
        f"{fields.timestamp('started')} AS started, TRY_CAST(step AS DECIMAL(26,6)) AS step, "
        f"TRY_CAST(gpus AS DECIMAL(18,6)) AS gpus, CASE WHEN state IN ({states}) THEN state ELSE 'unknown' END AS state, "
        "cluster, reason, failed, from_region, to_region, labels, native, "
        f'"values", data, attributes FROM {fields.relation} '
        "QUALIFY row_number() OVER (PARTITION BY source, id ORDER BY line) = 1"
    )


def _described(fields: RawTable, name: str) -> str:
    """Return SQL for a field of data and its value."""
    return f"'data.' || {fields.described(name)}"


def _is_object(name: str) -> str:
    column = identifier(name)
    return f"coalesce(json_type(CASE WHEN json_valid({column}) THEN {column} END), '') = 'OBJECT'"


def _object(name: str) -> str:
    """Return SQL for a column, null where it is no object: the engine may look into all rows before it tests them."""
    return f"CASE WHEN {_is_object(name)} THEN {identifier(name)} END"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, names))
