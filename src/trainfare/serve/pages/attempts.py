"""The attempts of a job over time: which machines they held, how they ended, and which work was lost."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trainfare.query import job as jobs
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import TOTAL, Link
from trainfare.serve.pages.panel import Column, Panel, Record, add_up

MOST_CHART_ROWS = 32
MOST_PHASES = 2000
PHASES = ("starting", "checkpoint", "lost")

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Timeline:
    """Placements in the rows of a chart: one row per attempt and machine, or per attempt if there are many machines."""

    spans: Rows
    names: list[str]
    """The name of each span's row."""

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(self.names))[:MOST_CHART_ROWS]

    @property
    def size(self) -> str:
        count = len(self.rows)
        return "small" if count <= 6 else "r10" if count <= 12 else "r16" if count <= 20 else "r24"


def panel(context: RequestContext, job: str) -> Panel:
    question = context.job_question(job)
    attempts = context.run(jobs.attempts, question)
    phases = context.run(jobs.phases, question)
    timeline = _timeline(context.run(jobs.spans, question))
    queued = _queue_spans(attempts, timeline)

    def of_attempt(row: Record) -> Link | None:
        return context.drill("/cost-trace/job", TOTAL, row["cost"], job=job, attempt=f"{job}#{row['attempt']}")

    columns = [
        Column("attempt", "Attempt", "count"),
        Column("state", "Final state", "state"),
        *([Column("queued_seconds", "Queued", "seconds")] if queued else []),
        Column("started", "Started", "time"),
        Column("ended", "Ended", "time", minor=True),
        Column("machines", "Machines", "count", minor=True),
        Column("gpu_seconds", "GPU h", "hours"),
        Column("cost", f"Cost {context.currency}", "money", of_attempt, estimated="estimated"),
        Column("rate", "Per GPU h", "rate"),
    ]
    if phases:
        attempts = [row | _phase_seconds(phases, row["attempt"]) for row in attempts]
        columns += [Column(name, name.capitalize(), "seconds") for name in PHASES]
    return Panel(
        "attempts",
        "Attempts",
        columns,
        attempts,
        about=_about(bool(queued), bool(phases)),
        chart=_gantt(timeline, phases, queued) if timeline.spans else None,
        size=timeline.size,
        foot=add_up(attempts, "cost", "estimated"),
        note=_note(phases),
        table_open=True,
    )


def _about(has_queue: bool, has_phases: bool) -> str:
    return " ".join(
        [
            "Each bar is an attempt holding a machine; a cross marks attempts that did not finish their work.",
            *(["The thin line before a bar is time in the queue."] if has_queue else []),
            "Gray: startup until the first step. Dark strokes: writing a checkpoint. Faded: lost work."
            if has_phases
            else "Faded: lost work. Measured steps and checkpoints would show how much of it was training.",
        ]
    )


def _note(phases: Rows) -> str:
    if all(phase["how"] == "measured" for phase in phases):
        return ""
    return "Where no checkpoints are known, all of an interrupted attempt counts as lost. That is an upper bound."


def _timeline(spans: Rows) -> Timeline:
    by_machine = len({span["machine"] for span in spans}) <= MOST_CHART_ROWS // 2
    return Timeline(spans, [_row_name(span, by_machine) for span in spans])


def _row_name(span: dict[str, Any], by_machine: bool) -> str:
    if not by_machine:
        return f"attempt {span['attempt']}"
    machine = span["machine"]
    return f"{span['attempt']} · {machine if len(machine) <= 16 else '…' + machine[-10:]}"


def _gantt(timeline: Timeline, phases: Rows, queued: Rows) -> dict[str, Any]:
    rows = timeline.rows
    return {
        "kind": "gantt",
        "rows": rows,
        "spans": [
            {
                "row": rows.index(name),
                "from": _utc(span["started"]),
                "to": _utc(span["ended"]),
                "state": span["state"],
                "attempt": span["attempt"],
            }
            for name, span in zip(timeline.names, timeline.spans, strict=True)
            if name in rows
        ],
        "phases": _phase_spans(phases),
        "queued": queued,
    }


def _queue_spans(attempts: Rows, timeline: Timeline) -> Rows:
    """Each attempt's time in the queue, in the chart row of the machine that it held first."""
    rows = timeline.rows
    named = [*zip(timeline.names, timeline.spans, strict=True)]
    first = {span["attempt"]: name for name, span in reversed(named)}
    return [
        {
            "row": rows.index(first[row["attempt"]]),
            "from": _utc(row["submitted"]),
            "to": _utc(row["started"]),
            "attempt": row["attempt"],
        }
        for row in attempts
        if row["queued_seconds"] and first.get(row["attempt"]) in rows
    ]


def _phase_spans(phases: Rows) -> dict[str, list[dict[str, str]]]:
    """The phases of each attempt, by its number."""
    spans: dict[str, list[dict[str, str]]] = {}
    for phase in phases[:MOST_PHASES]:
        span = {"from": _utc(phase["started"]), "to": _utc(phase["ended"]), "phase": phase["phase"]}
        spans.setdefault(str(phase["attempt"]), []).append(span)
    return spans


def _phase_seconds(phases: Rows, attempt: int) -> dict[str, int | None]:
    """The seconds of each phase of an attempt.

    If its checkpoints are unknown, only the upper bound of the lost time is given; if nothing is known, nothing is.
    """
    seconds: dict[str, int | None] = dict.fromkeys(PHASES)
    own = [phase for phase in phases if phase["attempt"] == attempt]
    is_measured = any(phase["how"] == "measured" for phase in own)
    for name in PHASES if is_measured else {phase["phase"] for phase in own}:
        lengths = [phase["ended"] - phase["started"] for phase in own if phase["phase"] == name]
        seconds[name] = sum(int(length.total_seconds()) for length in lengths)
    return seconds


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
