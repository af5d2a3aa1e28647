"""What was measured of attempts: storage and network, how busy the GPUs were that they held, and how they saved their work."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trainfare.report import used
from trainfare.report.render import exact, money
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Panel, Record, ratio, shown

MACHINES = 24
CHECKED = 200
GIGABYTE = Decimal(10**9)
TERABYTE = 1000 * GIGABYTE


def unmeasured(what: str, measure: str) -> tuple[str, str]:
    do = (
        f'Deliver a file with the measure {measure}: name it in trainfare.toml as [[source]] path = "measurements/*.csv", and build. '
        "Its columns: job_id, attempt, machine_id, started, ended, measure, value, from_region, to_region."
    )
    return what, do


def _narrowed(desk: Desk) -> str:
    """Which filters say nothing about measurements."""
    unknown = used.unknown_filters(desk.question)
    return f" Filters by {', '.join(unknown)} do not narrow it." if unknown else ""


def in_pool(row: Record) -> str:
    """A machine's name for a chart, after its pool's if it has one."""
    return f"{row['pool']} · {row['machine']}" if row["pool"] else str(row["machine"])


def requests(desk: Desk) -> Panel:
    found = desk.ask(used.by_day, desk.question, "storage_requests", "team")
    days = sorted({row["day"] for row in found})
    amounts = {(row["day"], row["team"]): row["value"] for row in found}
    teams = sorted({row["team"] for row in found}, key=lambda team: team or "")
    names = {team: team or "(none)" for team in teams}
    rows = [{"day": day} | {names[team]: amounts.get((day, team)) for team in teams} for day in days]
    chart = {
        "kind": "bars",
        "unit": "requests",
        "stacked": True,
        "labels": [f"{day:%-d %b}" for day in days],
        "days": [day.isoformat() for day in days],
        "series": [
            {"name": names[team], "values": [exact(amounts.get((day, team), Decimal(0))) for day in days]}
            for team in teams
        ],
    }
    columns = [Column("day", "Day", "day"), *(Column(name, name, "count") for name in names.values())]
    foot = {name: sum((row[name] or Decimal(0) for row in rows), Decimal(0)) for name in names.values()}
    about = f"How often jobs asked storage, by team.{_narrowed(desk)}"
    empty = unmeasured("No storage requests were measured", "storage_requests")
    return Panel("requests", "Storage requests by day", columns, rows, 7, about, chart, foot=foot, empty=empty)


def routes(desk: Desk) -> Panel:
    found = desk.ask(used.by_route, desk.question)
    rows = [row | {"per_gigabyte": ratio(row["cost"], row["bytes"] / GIGABYTE)} for row in found]
    name, unit = ("TB", TERABYTE) if any(row["bytes"] >= 10 * TERABYTE for row in rows) else ("GB", GIGABYTE)
    chart = {
        "kind": "ranks",
        "unit": name,
        "labels": [f"{row['from_region'] or '?'} → {row['to_region'] or '?'}" for row in rows[:12]],
        "values": [exact(row["bytes"] / unit) for row in rows[:12]],
    }
    columns = [
        Column("from_region", "From", "key"),
        Column("to_region", "To", "key"),
        Column("bytes", "Sent", "bytes"),
        Column("cost", f"Cost {desk.currency}", "money"),
        Column("per_gigabyte", "Per GB", "rate"),
    ]
    costs = [row["cost"] is not None for row in rows]
    foot = {
        "bytes": sum((row["bytes"] for row in rows), Decimal(0)),
        "cost": sum((row["cost"] for row in rows if row["cost"] is not None), Decimal(0)) if any(costs) else None,
    }
    about = (
        f"What jobs sent from region to region, and the network cost that is theirs by these bytes.{_narrowed(desk)}"
    )
    empty = unmeasured("No bytes sent were measured", "bytes_sent")
    size = "small" if len(rows) < 7 else ""
    return Panel(
        "routes", "Network bytes by region pair", columns, rows, 5, about, chart, size, foot, empty=empty, keep=True
    )


def placed(desk: Desk) -> Panel:
    """Attempts on machines in time, coloured by how busy the GPUs were that they held."""
    found = desk.ask(used.placed, desk.question, MACHINES)
    machines = list(dict.fromkeys(row["machine"] for row in found))
    rows: list[dict[str, Any]] = [row | {"busy": ratio(row["busy_seconds"], row["held_seconds"])} for row in found]
    pools = {row["machine"]: in_pool(row) for row in found}
    chart = {
        "kind": "placed",
        "rows": [pools[machine] for machine in machines],
        "from": f"{desk.window.start:%Y-%m-%dT%H:%M:%SZ}",
        "to": f"{desk.window.end:%Y-%m-%dT%H:%M:%SZ}",
        "spans": [
            {
                "row": machines.index(row["machine"]),
                "name": f"{row['job']}, attempt {row['attempt']}",
                "from": f"{row['started']:%Y-%m-%dT%H:%M:%SZ}",
                "to": f"{row['ended']:%Y-%m-%dT%H:%M:%SZ}",
                "busy": f"{100 * row['busy']:.1f}" if row["busy"] is not None else None,
                "link": desk.job(row["job"]),
            }
            for row in rows
        ],
    }
    columns = [
        Column("machine", "Machine", "key"),
        Column("job", "Job", "key", lambda row: desk.job(row["job"])),
        Column("attempt", "Attempt", "count"),
        Column("started", "From", "time"),
        Column("ended", "To", "time"),
        Column("held_seconds", "GPU h held", "hours"),
        Column("busy", "GPUs busy", "percent"),
    ]
    about = (
        f"The {MACHINES} machines on which most GPU time was held and not busy. A bar is an attempt; the stronger its colour, the busier "
        "its GPUs. Without a measurement of the machine it is that of the whole attempt. A click opens the job."
        + _narrowed(desk)
    )
    size = "r24" if len(machines) > 14 else "r16" if len(machines) > 6 else "small"
    empty = unmeasured("No GPU utilisation was measured", "gpu_busy_seconds")
    title = "Where attempts ran, and how busy their GPUs were"
    return Panel("placed", title, columns, rows, 12, about, chart, size, empty=empty)


def checkpoints(desk: Desk) -> Panel:
    found = desk.ask(used.checkpoints, desk.question, CHECKED)
    usable = [row for row in found if row["interval_seconds"] and row["writing_seconds"]]
    chart = {
        "kind": "dots",
        "log": True,
        "x": {"title": "Minutes from one checkpoint to the next", "unit": "min"},
        "y": {"title": "Seconds it takes", "unit": "s"},
        "series": [
            {
                "name": team or "(none)",
                "points": [
                    {
                        "name": row["job"],
                        "x": exact(Decimal(row["interval_seconds"]) / 60),
                        "y": exact(Decimal(row["writing_seconds"])),
                        "link": desk.job(row["job"]),
                    }
                    for row in usable
                    if row["team"] == team
                ],
            }
            for team in sorted({row["team"] for row in usable}, key=lambda team: team or "")
        ],
    }
    columns = checkpoint_columns(desk)
    told = f"The {CHECKED} dearest jobs that save their work: far left is often, far up is slow. Both scales are logarithmic."
    about = told + _narrowed(desk)
    note = _saving(found, desk.currency)
    empty = unmeasured("No checkpoints were measured", "checkpoint")
    return Panel(
        "checkpoints", "How often work is saved", columns, found, 12, about, chart, "r10", note=note, empty=empty
    )


def checkpoint_columns(desk: Desk) -> list[Column]:
    return [
        Column("job", "Job", "key", lambda row: desk.job(row["job"])),
        Column("team", "Team", "key"),
        Column("checkpoints", "Checkpoints", "count"),
        Column("interval_seconds", "Every", "seconds"),
        Column("writing_seconds", "Takes, s", "count"),
        Column("best_seconds", "Best: every", "seconds"),
        Column("interruptions", "Interrupted", "count"),
        Column("spent", f"Cost {desk.currency}", "money"),
        Column("saving", "Best would save", "money"),
    ]


def _saving(found: list[dict[str, Any]], currency: str) -> str:
    """What the intervals that lose least would save of these jobs together."""
    told = [row for row in found if row["saving"] is not None]
    if not told:
        return ""
    saving, spent = (sum((row[name] or Decimal(0) for row in told), Decimal(0)) for name in ("saving", "spent"))
    return (
        f"With the interval that loses least, {len(told)} of these jobs would save {money(saving)} {currency} on average, "
        f"{shown('percent', ratio(saving, spent))} of their cost."
    )


PANELS: dict[str, Callable[[Desk], Panel]] = {
    "placed": placed,
    "requests": requests,
    "routes": routes,
    "checkpoints": checkpoints,
}
