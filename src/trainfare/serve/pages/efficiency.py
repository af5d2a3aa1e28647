"""How efficiently jobs ran: failures and retries, runtimes, GPU occupancy of machines, and what was measured."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text
from trainfare.query import job_runs, jobs, lost_work
from trainfare.query.jobs import Listing
from trainfare.query.selection import NONE
from trainfare.report.render import money
from trainfare.serve.pages import labels, measurements
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import ALLOCATED, LOST, TOTAL, Link, chart_link
from trainfare.serve.pages.panel import Column, Page, Panel, Record, Stat, add_up, format_value, ratio

MOST_POINTS = 400
FAILED_STATES = ("failed", "node_failed", "timeout")


def page(context: RequestContext) -> Page:
    return Page("Efficiency", [build(context) for build in PANELS.values()], stats(context))


def stats(context: RequestContext) -> list[Stat]:
    found = context.run(job_runs.states, context.question)
    count = {row["state"]: row["attempts"] for row in found}
    retried = sum(row["jobs_retried"] for row in context.run(job_runs.retries, context.question, "team"))
    failed = sum(count.get(state, 0) for state in FAILED_STATES)
    return [
        Stat("Attempts", f"{sum(count.values()):,}", "", f"{retried:,} jobs needed more than one"),
        Stat("Preempted", f"{count.get('preempted', 0):,}", "attempts"),
        Stat("Failed", f"{failed:,}", "attempts", "failed, timed out or lost their node"),
        _lost_work(context, add_up(found, "cost")["cost"]),
    ]


def _lost_work(context: RequestContext, total: Decimal) -> Stat:
    """What M5 counts as lost, of the cost of jobs."""
    found = context.run(lost_work.by_label, context.question, "team")
    lost = add_up(found, "lost")["lost"]
    bound = "at most " if any(row["at_most"] for row in found) else ""
    part = f"{bound}{format_value('percent', ratio(lost, total))} of jobs"
    answers = (context.figure(LOST, lost),)
    return Stat("Lost work", money(lost), context.currency, part, decimal_text(lost), answers=answers)


def states(context: RequestContext) -> Panel:

    def jobs_of(row: Record) -> Link | None:
        return context.drill("/jobs", ALLOCATED, row["cost"], attempt_state=row["state"])

    columns = [
        Column("state", "Final state", "state", jobs_of),
        Column("attempts", "Attempts", "count"),
        Column("jobs", "Jobs", "count", minor=True),
        Column("runtime_median", "Median runtime", "seconds", minor=True),
        Column("runtime_p95", "p95", "seconds", minor=True),
        Column("gpu_seconds", "GPU h", "hours", minor=True),
        Column("cost", f"Cost {context.currency}", "money", jobs_of, estimated="estimated"),
    ]
    rows = context.run(job_runs.states, context.question)
    foot = {"state": None, "attempts": sum(row["attempts"] for row in rows), **add_up(rows, "cost", "estimated")}
    about = "Runtime: from an attempt's first to its last second within the selected period."
    return Panel("states", "Attempts by final state", columns, rows, 6, about, foot=foot)


def retries(context: RequestContext) -> Panel:
    work = {row["team"]: row for row in context.run(lost_work.by_label, context.question, "team")}
    nothing = dict.fromkeys(("lost", "overhead", "lost_estimated"), Decimal(0))
    rows = [
        row | {name: work.get(row["team"], nothing)[name] for name in nothing}
        for row in context.run(job_runs.retries, context.question, "team")
    ]
    rows = [row | {"part": ratio(row["lost"], row["cost"])} for row in rows]

    def lost_by_team(row: Record) -> Link | None:
        return context.drill("/efficiency", LOST, row["lost"], team=row["team"] or NONE)

    columns = [
        Column("team", "Team", "key", lost_by_team),
        Column("jobs_retried", "Retried", "count"),
        Column("preemptions", "Preempted", "count"),
        Column("failures", "Failed", "count", minor=True),
        Column("lost", f"Lost {context.currency}", "money", lost_by_team, estimated="lost_estimated"),
        Column("overhead", f"Overhead {context.currency}", "money", minor=True),
        Column("part", "% lost", "percent", minor=True),
    ]
    about = (
        "Retried: jobs with more than one attempt. Lost: work since the checkpoint that the next attempt resumed from, "
        "and restarts. Overhead: first starts, and writing checkpoints. As metric M5 counts them."
    )
    note = "Where no checkpoints are known, all of an interrupted attempt counts as lost. That is an upper bound."
    bounded = any(row["at_most"] for row in work.values())
    title = "Retries and lost work by team"
    return Panel("retries", title, columns, rows, 6, about, note=note if bounded else "")


def occupancy(context: RequestContext) -> Panel:
    found = context.run(job_runs.occupancy, context.question)
    machines = list(dict.fromkeys(row["resource"] for row in found))
    days = sorted({row["day"] for row in found if row["day"]})
    first = {row["resource"]: row for row in reversed(found)}
    rows = [
        {
            name: first[machine][name]
            for name in ("machine", "resource", "pool", "gpus", "idle", "idle_estimated", "cost", "estimated")
        }
        | {
            "held": ratio(
                Decimal(sum(row["held_thousandths"] or 0 for row in found if row["resource"] == machine)),
                Decimal(1000 * len(days)),
            )
        }
        for machine in machines
    ]
    chart: dict[str, Any] = {
        "kind": "heatmap",
        "measure": "GPUs held",
        "rows": [measurements.machine_label(first[machine]) for machine in machines],
        "columns": [f"{day:%-d %b}" for day in days],
        "cells": [
            [
                days.index(row["day"]),
                machines.index(row["resource"]),
                decimal_text(Decimal(row["held_thousandths"]) / 10),
                f"{row['jobs']} {'job' if row['jobs'] == 1 else 'jobs'}",
            ]
            for row in found
            if row["day"]
        ],
    }
    about = (
        "The 40 machines with the highest idle cost. Darker (dark theme: lighter): more GPUs held. Orange: more "
        "held than the machine has."
    )
    size = "r32" if len(machines) > 24 else "r24" if len(machines) > 14 else "r16" if len(machines) > 6 else "small"
    empty = ("No machines with GPUs", "None is on the bill, or none matches the filters.")
    title, columns = "GPU occupancy by machine and day", _occupancy_columns(context)
    return Panel("occupancy", title, columns, rows, 12, about, chart, size, empty=empty)


def _occupancy_columns(context: RequestContext) -> list[Column]:
    def of_machine(row: Record) -> Link | None:
        return context.drill("/cost-trace", TOTAL, row["cost"], resource=row["resource"])

    def idle_of_machine(row: Record) -> Link | None:
        return context.drill_kind("/cost-trace", TOTAL, row["idle"], "idle", resource=row["resource"])

    return [
        Column("machine", "Machine", "key", of_machine),
        Column("pool", "Pool", minor=True),
        Column("gpus", "GPUs", "count", minor=True),
        Column("held", "GPUs held", "percent"),
        Column("idle", f"Idle {context.currency}", "money", idle_of_machine, estimated="idle_estimated"),
        Column("cost", f"Cost {context.currency}", "money", of_machine, estimated="estimated"),
    ]


def rate_by_size(context: RequestContext) -> Panel:
    found = context.run(jobs.jobs, context.question, Listing(limit=MOST_POINTS))
    rows = [row for row in found.rows if row["gpu_seconds"] and row["rate"] and row["rate"] > 0]
    chart = {
        "kind": "scatter",
        "x": {"title": "GPU hours", "unit": "h"},
        "y": {"title": "Cost per hour", "unit": context.currency},
        "series": _points_by_team(context, rows),
    }
    columns = [
        Column("job", "Job", "key", lambda row: context.job_figure(row["job"], row["cost"])),
        Column("team", "Team", "key"),
        Column("gpu_seconds", "GPU h", "hours"),
        Column("cost", f"Cost {context.currency}", "money", estimated="estimated"),
        Column("rate", labels.rate_title(context), "rate"),
    ]
    about = (
        f"The {MOST_POINTS} jobs with the highest cost, on logarithmic scales. Up: more expensive per hour. Right: more "
        "GPU hours. Click a point to open the job."
    )
    return Panel("rate-by-size", "Cost per hour by job size", columns, rows, 12, about, chart, "r16")


def _points_by_team(context: RequestContext, rows: Sequence[Record]) -> list[dict[str, Any]]:
    series: dict[str, list[dict[str, Any]]] = {team: [] for team in sorted({row["team"] or NONE for row in rows})}
    for row in rows:
        series[row["team"] or NONE].append(
            {
                "name": row["job"],
                "x": decimal_text(row["gpu_seconds"] / 3600),
                "y": decimal_text(row["rate"]),
                **chart_link(context.job_rate(row["job"], row["rate"])),
            }
        )
    return [{"name": team, "points": points} for team, points in series.items()]


PANELS: dict[str, Callable[[RequestContext], Panel]] = {
    "states": states,
    "retries": retries,
    "occupancy": occupancy,
    "rate-by-size": rate_by_size,
    **measurements.PANELS,
}
