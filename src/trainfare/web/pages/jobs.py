"""All jobs: sorted, filtered, grouped, with the columns one wants; a page at a time, however many there are."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.report import chargeback, cost, jobs, keys
from trainfare.report.jobs import SORTS, Listing
from trainfare.report.opened import Opened
from trainfare.report.slice import NONE
from trainfare.web.pages.asked import FILTERS
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Panel, Record, Sheet, ratio

GROUPS = (
    "team",
    "project",
    "owner",
    "cost_center",
    "experiment",
    "model_version",
    "priority",
    "state",
    "pool",
    "gpu_model",
)
SIZES = (25, 50, 100, 500)
PICKED_MOST = 6
COLUMNS = {
    "team": ("Team", "key"),
    "owner": ("Owner", "key"),
    "project": ("Project", "key"),
    "experiment": ("Experiment", "key"),
    "cost_center": ("Cost centre", "key"),
    "model_version": ("Model version", "key"),
    "priority": ("Priority", "key"),
    "state": ("State", "state"),
    "attempts": ("Attempts", "count"),
    "preemptions": ("Preempted", "count"),
    "machines": ("Machines", "count"),
    "started": ("Started", "time"),
    "ended": ("Ended", "time"),
    "wall_seconds": ("Wall h", "hours"),
    "gpu_seconds": ("GPU h", "hours"),
    "cost": ("Cost", "money"),
    "rate": ("Per hour", "rate"),
}
USUAL = ("team", "project", "owner", "state", "attempts", "started", "wall_seconds", "gpu_seconds", "cost", "rate")
ON_A_PHONE = ("cost", "rate")
"""Those of them that a phone shows; whoever chooses columns sees them all."""


def sheet(desk: Desk) -> Sheet:
    by = _group(desk)
    panel = groups(desk) if by else listing(desk)
    picked = desk.asked.all("pick")
    panels = [compare(desk), panel] if picked else [panel]
    extra = {
        "by": by,
        "groups": GROUPS,
        "columns": COLUMNS,
        "chosen": _columns(desk),
        "picked": picked,
        "sizes": SIZES,
        "filters": [(key, desk.ask(values, key)) for key in ("team", "project", "owner", "state", "pool")],
        "turn": {} if by else _turn(desk),
    }
    return Sheet("Jobs", panels, extra=extra)


def values(opened: Opened, key: str) -> list[str]:
    """What a key can be asked for: its values, those of the most jobs first."""
    table = "book_machines" if key in keys.OF_MACHINE else "attempts"
    found = opened.engine.rows(
        f"SELECT {key} FROM {table} WHERE {key} IS NOT NULL GROUP BY {key} ORDER BY count(*) DESC, {key} LIMIT 200"
    )
    return [value for (value,) in found]


def listing(desk: Desk) -> Panel:
    asked = _asked(desk)
    found = desk.ask(jobs.jobs, desk.question, asked)
    columns = [_sortable(desk, asked, Column("job", "Job", "key", lambda row: desk.job(row["job"])))]
    for name in _columns(desk):
        title, kind = COLUMNS[name]
        title = f"{title} {desk.currency}" if name == "cost" else title
        link = _filter(desk, name) if name in FILTERS else None
        minor = name not in ON_A_PHONE and not desk.asked.all("column")
        told = Column(name, title, kind, link, soft=True, estimated="estimated" if name == "cost" else "", minor=minor)
        columns.append(_sortable(desk, asked, told))
    foot = {"job": f"{found.count:,} jobs", "cost": found.cost}
    empty = ("No job is like that", "Take a filter away, choose another time, or look for a shorter part of the name.")
    return Panel("listing", "Jobs", columns, found.rows, foot=foot, empty=empty)


def export(desk: Desk, path: Path) -> None:
    """Write all jobs that are asked for to a file, as CSV or Parquet by its ending: what the API's columns are, with all digits."""
    with desk.shelf.opened(desk.viewer, desk.books) as opened:
        chargeback.copy(opened.engine, jobs.every(opened, desk.question, _asked(desk)), path)


def groups(desk: Desk) -> Panel:
    by = _group(desk)
    found = desk.ask(cost.rows, desk.question, [by])
    total = sum((row.cost or Decimal(0) for row in found), Decimal(0))
    rows = [
        {
            "group": row.group[by],
            "jobs": row.jobs or None,
            "wall_seconds": row.wall_seconds,
            "gpu_seconds": row.gpu_seconds,
            "cost": row.cost,
            "estimated": row.estimated,
            "part": ratio(row.cost, total),
            "rate": row.rate,
            "rate_median": row.rate_median,
            "rate_p95": row.rate_p95,
        }
        for row in found
    ]
    columns = [
        Column("group", by.replace("_", " ").capitalize(), "key", lambda row: desk.link("/jobs", **{by: row["group"]})),
        Column("jobs", "Jobs", "count"),
        Column("wall_seconds", "Wall h", "hours", minor=True),
        Column("gpu_seconds", "GPU h", "hours", minor=True),
        Column(
            *("cost", f"Cost {desk.currency}", "money", lambda row: desk.link("/dollar", **{by: row["group"] or NONE})),
            estimated="estimated",
        ),
        Column("part", "Of all jobs", "percent", minor=True),
        Column("rate", "Per hour", "rate"),
        Column("rate_median", "Median", "rate", minor=True),
        Column("rate_p95", "p95", "rate", minor=True),
    ]
    return Panel("groups", f"Jobs by {by.replace('_', ' ')}", columns, rows, foot={"group": "All jobs", "cost": total})


def compare(desk: Desk) -> Panel:
    """Jobs side by side, one line per thing that can be told of them."""
    picked = desk.asked.all("pick")
    if len(picked) > PICKED_MOST:
        raise TrainfareError("pick", f"{len(picked)} jobs", f"Compare at most {PICKED_MOST} at once.")
    found = {}
    for job in picked:
        page = desk.ask(jobs.jobs, desk.of_job(job), Listing(limit=1))
        if page.rows:
            found[job] = page.rows[0]
    rows = [
        {"what": title} | {job: Column(name, title, kind).shown(record) for job, record in found.items()}
        for name, (title, kind) in (COLUMNS | {"estimated": ("Of it estimated", "money")}).items()
    ]
    columns = [Column("what", ""), *(Column(job, job, "figure") for job in found)]
    empty = ("None of these jobs is in what is asked about", "Choose another time.")
    return Panel("compare", "Compared", columns, rows if found else [], empty=empty)


def _group(desk: Desk) -> str:
    by = desk.asked.one("by")
    if by and by not in GROUPS:
        raise TrainfareError("by", f"jobs are not grouped by '{by}' here", f"Known are {', '.join(GROUPS)}.")
    return by


def _columns(desk: Desk) -> list[str]:
    chosen = [name for name in COLUMNS if name in desk.asked.all("column")]
    return chosen or list(USUAL)


def _asked(desk: Desk) -> Listing:
    asked = desk.asked
    sort, order = asked.one("sort", "cost"), asked.one("order", "desc")
    if sort not in SORTS or order not in ("asc", "desc"):
        raise TrainfareError("sort", f"'{sort} {order}' is not known", f"Known are {', '.join(SORTS)}, asc and desc.")
    size = asked.number("size", 50, 1, 500)
    return Listing(sort, order == "desc", asked.one("q"), size, (asked.number("page", 1, 1) - 1) * size)


def _sortable(desk: Desk, asked: Listing, column: Column) -> Column:
    ways = {True: "descending", False: "ascending"}
    first = column.is_number or column.kind == "time"
    descending = not asked.descending if asked.sort == column.name else first
    address = desk.stay(sort=column.name, order="desc" if descending else "asc", page=None)
    return replace(column, sort=address, sorted=ways[asked.descending] if asked.sort == column.name else "")


def _filter(desk: Desk, key: str) -> Callable[[Record], str | None]:
    return lambda row: desk.stay(page=None, **{key: row[key]})


def _turn(desk: Desk) -> dict[str, Any]:
    """Which page this is, of how many, and the way to its neighbours."""
    asked = _asked(desk)
    count = desk.ask(jobs.jobs, desk.question, asked).count
    if not count and asked.offset:
        count = desk.ask(jobs.jobs, desk.question, replace(asked, offset=0)).count
    number, last = asked.offset // asked.limit + 1, max(-(-count // asked.limit), 1)
    return {
        "first": min(asked.offset + 1, count),
        "last": min(asked.offset + asked.limit, count),
        "count": count,
        "size": asked.limit,
        "previous": desk.stay(page=number - 1) if number > 1 else None,
        "next": desk.stay(page=number + 1) if number < last else None,
    }


PANELS: dict[str, Callable[[Desk], Panel]] = {
    "listing": listing,
    "groups": groups,
    "compare": compare,
}
