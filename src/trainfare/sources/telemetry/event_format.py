"""The event format: every type of event and every field of its data, with unit and meaning.

The reference page is generated from here. The SDK has the same types; a test compares them.
"""

from dataclasses import dataclass

from trainfare.tables import PLACEMENTS, STATES, TEXT, TIME, Column, Table

VERSION = 1
PREFIX = "trainfare."
START, RUNNING, STEP = f"{PREFIX}start", f"{PREFIX}running", f"{PREFIX}step"
CHECKPOINT_BEGIN, CHECKPOINT_END = f"{PREFIX}checkpoint_begin", f"{PREFIX}checkpoint_end"
USAGE, LABEL, SIGNAL = f"{PREFIX}usage", f"{PREFIX}label", f"{PREFIX}signal"
END, GAP = f"{PREFIX}end", f"{PREFIX}gap"
WITH_STEP = (STEP, CHECKPOINT_BEGIN, CHECKPOINT_END)


@dataclass(frozen=True)
class Field:
    """A field of an event."""

    name: str
    meaning: str
    is_required: bool = False


@dataclass(frozen=True)
class EventType:
    """A type of event and the fields that it adds to those of all events."""

    name: str
    meaning: str
    fields: tuple[Field, ...] = ()


ATTRIBUTES = (
    Field("specversion", '`"1.0"`: the event is a CloudEvent 1.0'),
    Field("id", "identifies the event among all of its source; an event with the same source and id counts once", True),
    Field("source", "who sent it: one process of one machine, such as `trainfare-sdk/node7/4711`", True),
    Field("type", "one of the types below; events of other types are kept, and counted in a finding", True),
    Field("time", "when it happened, with its offset from UTC: `2026-11-18T07:34:00.123456Z`", True),
    Field("data", "an object with the fields below", True),
)
DATA = (
    Field("v", f"the version of these fields: {VERSION}. Events of a later version are kept, and counted in a finding"),
    Field("job", "the job's id, as a scheduler's log writes it if there is one", True),
    Field("attempt", "which try of the job, from 1", True),
    Field("machine", "the machine, as the scheduler's log, the machine file or the bill names it", True),
    Field("seq", "counts the events of a process from 1, so that missing ones are noticed"),
    Field("rank", "the number of the process among all of the job's; absent: 0"),
)
_STARTED = Field("started", "when the span began whose end is `time`")
_STEP = Field("step", "the number of the step", True)
_PATH = Field("path", "where the checkpoint is")
_LABELS = "an object of texts: owner, team, project, experiment, cost_center, model_version, priority, and any others"
EVENT_TYPES = (
    EventType(
        START,
        "a process of the attempt started on this machine",
        (
            Field("name", "the name that the code gives the job"),
            Field("run", "what all processes of one attempt have in common"),
            Field("gpus", "the number of GPUs held on this machine; absent: the whole machine"),
            Field("cluster", "the cluster that numbers these jobs"),
            Field("labels", _LABELS),
            Field("native", "an object of texts: the ids by which other systems know this process"),
            Field("sdk", "the version of the SDK"),
        ),
    ),
    EventType(RUNNING, "the process is alive"),
    EventType(STEP, "a step was reached", (_STEP, _STARTED)),
    EventType(CHECKPOINT_BEGIN, "saving a checkpoint began", (_STEP, _PATH)),
    EventType(
        CHECKPOINT_END,
        "saving a checkpoint ended",
        (_STEP, _STARTED, Field("failed", "true if nothing usable was saved: such a checkpoint does not count"), _PATH),
    ),
    EventType(
        USAGE,
        "something was measured",
        (
            Field("values", "an object of numbers by measure; those that are no measure of the account are kept", True),
            _STARTED,
            Field("from_region", "where bytes_sent came from"),
            Field("to_region", "where bytes_sent went to"),
        ),
    ),
    EventType(LABEL, "labels that were not known at the start", (Field("labels", _LABELS),)),
    EventType(SIGNAL, "the process received a signal", (Field("signal", "its name, such as SIGTERM"),)),
    EventType(
        END,
        "the process of the attempt ended",
        (
            Field("state", f"how: {', '.join(STATES)}; absent or another: unknown"),
            Field("exit_code", "the exit code of the program"),
            Field("signal", "the signal that ended it"),
            Field("reason", "the type of the error that ended it"),
        ),
    ),
    EventType(
        GAP,
        "events could not be written",
        (Field("lost", "how many", True), Field("reason", "why, such as no space left on device")),
    ),
)
TYPES = tuple(one.name for one in EVENT_TYPES)

NOTES = ("unrecognized", "missing", "no end")
EVENT_NOTES = Table(
    "event_notes",
    "Something about the events of a job that a reader of its figures should know.",
    (
        Column("note", TEXT, "what it is: " + ", ".join(NOTES)),
        Column("job_id", TEXT, "the job, if the events name it"),
        Column("attempt", "INTEGER", "which try of the job, from 1"),
        Column("noted", TIME, "when the last of these events happened"),
        Column("events", "BIGINT", "how many events it concerns"),
        Column("detail", TEXT, "the type of the events, or why they are missing"),
        Column("line", "BIGINT", "position of the first of them in the file"),
    ),
)

DECLARED = Table(
    "declared_placements",
    "What jobs report about themselves. It gives way to any log that names the attempt.",
    PLACEMENTS.columns,
)
