"""How jobs ran: what failed and was tried again, how long it took, how full the machines were, and what was measured."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.report import jobs, running
from trainfare.report.jobs import Listing
from trainfare.report.render import exact, money
from trainfare.report.slice import LOST
from trainfare.web.pages import measured
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Figure, Panel, Sheet, ratio, shown

DOTS = 400


def sheet(desk: Desk) -> Sheet:
    return Sheet("Debug", [find(desk) for find in PANELS.values()], figures(desk))


def figures(desk: Desk) -> list[Figure]:
    found = desk.ask(running.states, desk.question)
    count = {row["state"]: row["attempts"] for row in found}
    whole = sum((row["cost"] or Decimal(0) for row in found), Decimal(0))
    lost = sum((row["cost"] or Decimal(0) for row in found if row["state"] in LOST), Decimal(0))
    retried = sum(row["jobs_retried"] for row in desk.ask(running.retries, desk.question, "team"))
    attempts = sum(count.values())
    failures = sum(count.get(state, 0) for state in ("failed", "node_failed", "timeout"))
    return [
        Figure("Attempts", f"{attempts:,}", "", f"{retried:,} jobs needed more than one"),
        Figure("Preempted", f"{count.get('preempted', 0):,}", "attempts"),
        Figure("Failed", f"{failures:,}", "attempts", "failed, timed out, or lost their node"),
        Figure(
            *(
                "In attempts that were lost",
                money(lost),
                desk.currency,
                f"{shown('percent', ratio(lost, whole))} of jobs",
            ),
            exact(lost),
        ),
    ]


def states(desk: Desk) -> Panel:
    columns = [
        Column("state", "Ended as", "state", lambda row: desk.link("/jobs", state=row["state"])),
        Column("attempts", "Attempts", "count"),
        Column("jobs", "Jobs", "count", minor=True),
        Column("runtime_median", "Median runtime", "seconds"),
        Column("runtime_p95", "p95 runtime", "seconds", minor=True),
        Column("gpu_seconds", "GPU h", "hours", minor=True),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
    ]
    rows = desk.ask(running.states, desk.question)
    foot = {
        "state": None,
        "attempts": sum(row["attempts"] for row in rows),
        **{name: sum((row[name] or Decimal(0) for row in rows), Decimal(0)) for name in ("cost", "estimated")},
    }
    about = "Runtime is from an attempt's first second in this time to its last."
    return Panel("states", "Runtimes and how attempts ended", columns, rows, 7, about, foot=foot)


def retries(desk: Desk) -> Panel:
    found = desk.ask(running.retries, desk.question, "team")
    rows = [row | {"part": ratio(row["cost_of_retries"], row["cost"])} for row in found]
    columns = [
        Column("team", "Team", "key", lambda row: desk.link("/jobs", team=row["team"])),
        Column("jobs_retried", "Retried jobs", "count"),
        Column("preemptions", "Preempted", "count"),
        Column("failures", "Failed", "count", minor=True),
        Column("cost_of_retries", f"Overhead {desk.currency}", "money", estimated="estimated"),
        Column("part", "Of its cost", "percent", minor=True),
    ]
    about = "Overhead is the cost of all attempts of a job but its last."
    return Panel("retries", "Retries and preemptions by team", columns, rows, 5, about)


def occupancy(desk: Desk) -> Panel:
    found = desk.ask(running.occupancy, desk.question)
    machines = list(dict.fromkeys(row["machine"] for row in found))
    days = sorted({row["day"] for row in found if row["day"]})
    pools = {row["machine"]: measured.in_pool(row) for row in found}
    cells = [
        [
            days.index(row["day"]),
            machines.index(row["machine"]),
            exact(Decimal(row["held_thousandths"]) / 10),
            f"{row['jobs']} jobs",
        ]
        for row in found
        if row["day"]
    ]
    chart: dict[str, Any] = {
        "kind": "heat",
        "what": "GPUs held",
        "rows": [pools[machine] for machine in machines],
        "columns": [f"{day:%-d %b}" for day in days],
        "cells": cells,
    }
    rows = [
        {
            "machine": machine,
            "pool": first["pool"],
            "gpus": first["gpus"],
            "held": ratio(
                Decimal(sum(row["held_thousandths"] or 0 for row in found if row["machine"] == machine)),
                Decimal(1000 * len(days)),
            ),
            **{name: first[name] for name in ("idle", "idle_estimated", "cost", "estimated")},
        }
        for machine in machines
        for first in [next(row for row in found if row["machine"] == machine)]
    ]
    columns = [
        Column("machine", "Machine", "key"),
        Column("pool", "Pool", minor=True),
        Column("gpus", "GPUs", "count", minor=True),
        Column("held", "Held, of these days", "percent"),
        Column("idle", f"Idle {desk.currency}", "money", estimated="idle_estimated"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
    ]
    about = "The 40 machines with the most idle money. The stronger the colour, the fuller; orange: more was held than there is."
    size = "r32" if len(machines) > 24 else "r24" if len(machines) > 14 else "r16" if len(machines) > 6 else "small"
    empty = ("No machine with GPUs", "None was on the bill, or none passes the filters.")
    return Panel("occupancy", "How full machines were, by day", columns, rows, 12, about, chart, size, empty=empty)


def spread(desk: Desk) -> Panel:
    found = desk.ask(jobs.jobs, desk.question, Listing(limit=DOTS))
    usable = [row for row in found.rows if row["gpu_seconds"] and row["rate"] and row["rate"] > 0]
    teams = sorted({row["team"] or "(none)" for row in usable})
    chart = {
        "kind": "dots",
        "log": True,
        "x": {"title": "GPU hours", "unit": "h"},
        "y": {"title": "Cost per hour", "unit": desk.currency},
        "series": [
            {
                "name": team,
                "points": [
                    {
                        "name": row["job"],
                        "x": exact(row["gpu_seconds"] / 3600),
                        "y": exact(row["rate"]),
                        "link": desk.job(row["job"]),
                    }
                    for row in usable
                    if (row["team"] or "(none)") == team
                ],
            }
            for team in teams
        ],
    }
    columns = [
        Column("job", "Job", "key", lambda row: desk.job(row["job"])),
        Column("team", "Team", "key"),
        Column("gpu_seconds", "GPU h", "hours"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
        Column("rate", "Per hour", "rate"),
    ]
    about = f"The {DOTS} dearest jobs: far up is dear per hour, far right is large. Both scales are logarithmic. A click opens the job."
    return Panel("spread", "Cost per hour against size", columns, usable, 12, about, chart, "r16")


PANELS: dict[str, Callable[[Desk], Panel]] = {
    "states": states,
    "retries": retries,
    "occupancy": occupancy,
    "spread": spread,
    **measured.PANELS,
}
