"""Panels of what was measured: storage requests, network traffic, GPU utilization and checkpoints."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text
from trainfare.query import usage
from trainfare.query.selection import NONE
from trainfare.report.render import money
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import chart_link
from trainfare.serve.pages.panel import Column, Panel, Record, add_up, format_value, ratio

MOST_MACHINES = 24
MOST_JOBS = 200
MOST_ROUTES = 12
GIGABYTE = Decimal(10**9)
TERABYTE = 1000 * GIGABYTE


def unmeasured(what: str, measure: str) -> tuple[str, str]:
    """The text of an empty panel: what is missing, and how to deliver it."""
    do = (
        f'To see it, deliver a file with the measure {measure}: add [[source]] path = "measurements/*.csv" to '
        "trainfare.toml and build. Its columns: job_id, attempt, machine_id, started, ended, measure, value, "
        "from_region, to_region."
    )
    return what, do


def _ignored_filters(context: RequestContext) -> str:
    """A sentence on the filters that measurements cannot be filtered by."""
    ignored = usage.unknown_filters(context.question)
    return f" Filters by {', '.join(ignored)} do not apply here." if ignored else ""


def machine_label(row: Record) -> str:
    """A machine's name for a chart, preceded by its pool."""
    return f"{row['pool']} · {row['machine']}" if row["pool"] else str(row["machine"])


def requests(context: RequestContext) -> Panel:
    found = context.run(usage.by_day, context.question, "storage_requests", "team")
    days = sorted({row["day"] for row in found})
    amounts = {(row["day"], row["team"]): row["value"] for row in found}
    teams = sorted({row["team"] for row in found}, key=lambda team: team or "")
    names = {team: team or NONE for team in teams}
    rows = [{"day": day} | {names[team]: amounts.get((day, team)) for team in teams} for day in days]
    chart = {
        "kind": "bars",
        "unit": "requests",
        "stacked": True,
        "labels": [f"{day:%-d %b}" for day in days],
        "days": [day.isoformat() for day in days],
        "series": [
            {"name": names[team], "values": [decimal_text(amounts.get((day, team), Decimal(0))) for day in days]}
            for team in teams
        ],
    }
    columns = [Column("day", "Day", "day"), *(Column(name, name, "count") for name in names.values())]
    about = f"Requests of jobs to storage, by team.{_ignored_filters(context)}"
    empty = unmeasured("No storage requests measured", "storage_requests")
    foot = add_up(rows, *names.values())
    return Panel("requests", "Storage requests by day", columns, rows, 7, about, chart, foot=foot, empty=empty)


def routes(context: RequestContext) -> Panel:
    found = context.run(usage.by_route, context.question)
    rows = [row | {"per_gigabyte": ratio(row["cost"], row["bytes"] / GIGABYTE)} for row in found]
    name, unit = ("TB", TERABYTE) if any(row["bytes"] >= 10 * TERABYTE for row in rows) else ("GB", GIGABYTE)
    chart = {
        "kind": "horizontal_bars",
        "unit": name,
        "labels": [f"{row['from_region'] or '?'} → {row['to_region'] or '?'}" for row in rows[:MOST_ROUTES]],
        "values": [decimal_text(row["bytes"] / unit) for row in rows[:MOST_ROUTES]],
    }
    columns = [
        Column("from_region", "From", "key"),
        Column("to_region", "To", "key"),
        Column("bytes", "Sent", "bytes"),
        Column("cost", f"Cost {context.currency}", "money"),
        Column("per_gigabyte", "Per GB", "price"),
    ]
    foot: dict[str, Any] = add_up(rows, "bytes")
    if any(row["cost"] is not None for row in rows):
        foot |= add_up(rows, "cost")
    about = f"Bytes that jobs sent between regions, and the network cost allocated by them.{_ignored_filters(context)}"
    empty = unmeasured("No network traffic measured", "bytes_sent")
    size = "small" if len(rows) < 7 else ""
    title = "Network traffic by region pair"
    return Panel("routes", title, columns, rows, 5, about, chart, size, foot, empty=empty, table_open=True)


def placements(context: RequestContext) -> Panel:
    """Attempts on machines over time, colored by the utilization of the GPUs they held."""
    found = context.run(usage.attempts_on_idle_machines, context.question, MOST_MACHINES)
    rows: list[dict[str, Any]] = [row | {"busy": ratio(row["busy_seconds"], row["held_seconds"])} for row in found]
    machines = list(dict.fromkeys(row["machine"] for row in found))
    columns = [
        Column("machine", "Machine", "key"),
        Column("job", "Job", "key", lambda row: context.job_link(row["job"])),
        Column("attempt", "Attempt", "count"),
        Column("started", "From", "time"),
        Column("ended", "To", "time"),
        Column("held_seconds", "GPU h held", "hours"),
        Column("busy", "GPU utilization", "percent"),
    ]
    about = (
        f"The {MOST_MACHINES} machines with the most held but unused GPU time. Each bar is an attempt; darker (dark "
        "theme: lighter): busier GPUs. Where a machine was not measured, the bar shows the average of the attempt. Click "
        "a bar to open the job." + _ignored_filters(context)
    )
    size = "r24" if len(machines) > 14 else "r16" if len(machines) > 6 else "small"
    empty = unmeasured("No GPU utilization measured", "gpu_busy_seconds")
    chart = _placement_chart(context, machines, rows)
    return Panel("placements", "GPU utilization by machine", columns, rows, 12, about, chart, size, empty=empty)


def _placement_chart(context: RequestContext, machines: list[str], rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = {row["machine"]: machine_label(row) for row in rows}
    return {
        "kind": "placements",
        "rows": [names[machine] for machine in machines],
        "from": f"{context.window.start:%Y-%m-%dT%H:%M:%SZ}",
        "to": f"{context.window.end:%Y-%m-%dT%H:%M:%SZ}",
        "spans": [
            {
                "row": machines.index(row["machine"]),
                "name": f"{row['job']}, attempt {row['attempt']}",
                "from": f"{row['started']:%Y-%m-%dT%H:%M:%SZ}",
                "to": f"{row['ended']:%Y-%m-%dT%H:%M:%SZ}",
                "busy": f"{100 * row['busy']:.1f}" if row["busy"] is not None else None,
                "link": context.job_link(row["job"]),
            }
            for row in rows
        ],
    }


def checkpoints(context: RequestContext) -> Panel:
    found = context.run(usage.checkpoints, context.question, MOST_JOBS)
    timed = [row for row in found if row["interval_seconds"] and row["writing_seconds"]]
    chart = {
        "kind": "scatter",
        "x": {"title": "Minutes between checkpoints", "unit": "min"},
        "y": {"title": "Seconds to write one", "unit": "s"},
        "series": [
            {
                "name": team or NONE,
                "points": [
                    {
                        "name": row["job"],
                        "x": decimal_text(Decimal(row["interval_seconds"]) / 60),
                        "y": decimal_text(Decimal(row["writing_seconds"])),
                        **chart_link(context.job_interval(row["job"], int(row["interval_seconds"]))),
                    }
                    for row in timed
                    if row["team"] == team
                ],
            }
            for team in sorted({row["team"] for row in timed}, key=lambda team: team or "")
        ],
    }
    about = (
        f"The {MOST_JOBS} jobs with the highest cost that write checkpoints, on logarithmic scales. Left: more frequent. "
        f"Up: slower to write.{_ignored_filters(context)}"
    )
    note = _savings(found, context.currency)
    empty = unmeasured("No checkpoints measured", "checkpoint")
    columns = checkpoint_columns(context)
    return Panel("checkpoints", "Checkpoint intervals", columns, found, 12, about, chart, "r10", note=note, empty=empty)


def checkpoint_columns(context: RequestContext) -> list[Column]:
    return [
        Column("job", "Job", "key", lambda row: context.job_link(row["job"])),
        Column("team", "Team", "key"),
        Column("checkpoints", "Checkpoints", "count"),
        Column("interval_seconds", "Interval", "seconds"),
        Column("writing_seconds", "Write time, s", "count"),
        Column("best_seconds", "Best interval", "seconds"),
        Column("interruptions", "Interruptions", "count"),
        Column("spent", f"Cost {context.currency}", "money"),
        Column("saving", "Potential saving", "money"),
    ]


def _savings(found: list[dict[str, Any]], currency: str) -> str:
    """What these jobs would save together with their best intervals."""
    rows = [row for row in found if row["saving"] is not None]
    if not rows:
        return ""
    sums = add_up(rows, "saving", "spent")
    part = format_value("percent", ratio(sums["saving"], sums["spent"]))
    return (
        f"With their best intervals, {len(rows)} of these jobs would save {money(sums['saving'])} {currency} on "
        f"average, {part} of their cost."
    )


PANELS: dict[str, Callable[[RequestContext], Panel]] = {
    "placements": placements,
    "requests": requests,
    "routes": routes,
    "checkpoints": checkpoints,
}
