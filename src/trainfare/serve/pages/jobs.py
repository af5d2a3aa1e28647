"""The list of jobs: sorted, filtered, grouped, with selectable columns, one page at a time."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.money import decimal_text
from trainfare.query import cost, jobs, keys
from trainfare.query.job import by_category, gpu_models
from trainfare.query.job import facts as job_facts
from trainfare.query.jobs import SORTS, Listing
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import NONE
from trainfare.report import chargeback
from trainfare.report.render import money
from trainfare.serve.pages import labels
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import ALLOCATED, BILLED, ESTIMATED, JOBS, TOTAL, Figure, Link
from trainfare.serve.pages.panel import Column, Page, Panel, Record, Stat, format_value, ratio
from trainfare.serve.pages.query import FILTERS

GROUPS = (
    *("team", "project", "owner", "cost_center", "experiment", "model_version", "priority", "state"),
    *("pool", "gpu_model"),
)
PAGE_SIZES = (25, 50, 100, 500)
MOST_COMPARED = 6
FIRST_COMPARED = ("cost", "rate", "gpu_seconds", "wall_seconds")
OF_CATEGORY = "category "
"""Prefix of the fields of a compared job with its cost by category."""
COLUMNS = {
    "team": ("Team", "key"),
    "owner": ("Owner", "key"),
    "project": ("Project", "key"),
    "experiment": ("Experiment", "key"),
    "cost_center": ("Cost center", "key"),
    "model_version": ("Model version", "key"),
    "priority": ("Priority", "key"),
    **{name: (title, "key") for name, title in keys.SCHEDULING.items()},
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
"""Title and kind of each column that can be selected."""
DEFAULT_COLUMNS = (
    *("team", "project", "owner", "state", "attempts", "started", "wall_seconds", "gpu_seconds", "cost", "rate"),
)
SMALL_SCREEN_COLUMNS = ("cost", "rate")
"""The default columns that small screens show. Columns selected by the reader are always shown."""


def page(context: RequestContext) -> Page:
    by = _group_key(context)
    panel = groups(context) if by else listing(context)
    selected = context.query.get_all("pick")
    panels = [compare(context), panel] if selected else [panel]
    counted = context.run(jobs.jobs, context.question, _listing(context))
    extra = {
        "by": by,
        "groups": GROUPS,
        "columns": COLUMNS,
        "shown_columns": _column_names(context),
        "selected": selected,
        "sizes": PAGE_SIZES,
        "filters": [(key, context.run(filter_values, key)) for key in ("team", "project", "owner", "state", "pool")],
        "paging": {} if by else _paging(context, counted.count),
    }
    return Page("Jobs", panels, stats(context, counted), extra=extra)


def named_job(context: RequestContext) -> str | None:
    """The page of the job whose exact id is searched for; None if the search is for anything else."""
    searched = context.query.get("q")
    return context.job_link(searched) if searched and context.run(job_facts, searched) else None


def stats(context: RequestContext, found: jobs.Page) -> list[Stat]:
    """What jobs and labels pay, how many jobs there are, and what is allocated to a label without a job.

    A search narrows the jobs only: what is allocated to labels has no job id or owner to find.
    """
    count = Stat(
        "Jobs",
        f"{found.count:,}",
        "",
        f"{money(found.cost)} {context.currency}",
        answers=() if context.query.get("q") else (Figure(JOBS, found.count),),
    )
    if context.query.get("q"):
        cost_of_jobs = Stat("Cost of matching jobs", money(found.cost), context.currency, "", decimal_text(found.cost))
        return [cost_of_jobs, count]
    (overall,) = context.run(cost.rows, context.question, [])
    allocated, estimated = overall.cost or Decimal(0), overall.estimated
    figures = ((ALLOCATED, allocated), (BILLED, allocated - estimated), (ESTIMATED, estimated))
    parts = f"billed {money(allocated - estimated)} + estimated {money(estimated)}" if estimated else ""
    total = Stat(
        "Allocated cost",
        money(allocated),
        context.currency,
        parts,
        decimal_text(allocated),
        context.drill_kind("/cost-trace", TOTAL, allocated, "jobs"),
        answers=tuple(context.figure(measure, value) for measure, value in figures),
    )
    rate = Stat(
        "Cost per training hour",
        money(overall.rate),
        f"{context.currency} / {'GPU' if context.question.per == 'gpu' else 'wall'} h",
        f"median {money(overall.rate_median)}, p95 {money(overall.rate_p95)}",
        decimal_text(overall.rate),
    )
    return [total, count, *_without_a_job(context, allocated - found.cost), rate]


def _without_a_job(context: RequestContext, labels_pay: Decimal) -> list[Stat]:
    """What the jobs in the list do not add up to: cost allocated to a label, such as a team's storage."""
    if not labels_pay:
        return []
    link = context.drill("/cost-trace", TOTAL, labels_pay, payer="labels")
    what = "allocated to a label, such as a team"
    return [Stat("Without a job", money(labels_pay), context.currency, what, decimal_text(labels_pay), link)]


def filter_values(opened: OpenBooks, key: str) -> list[str]:
    """The values of a key that jobs can be filtered by, most frequent first."""
    table = "book_machines" if key in keys.MACHINE_KEYS else "attempts"
    found = opened.engine.rows(
        f"SELECT {key} FROM {table} WHERE {key} IS NOT NULL GROUP BY {key} ORDER BY count(*) DESC, {key} LIMIT 200"
    )
    return [value for (value,) in found]


def listing(context: RequestContext) -> Panel:
    request = _listing(context)
    found = context.run(jobs.jobs, context.question, request)
    columns = [_sortable(context, request, Column("job", "Job", "key", lambda row: _job_link(context, row)))]
    columns += [_sortable(context, request, _column(context, name)) for name in _column_names(context)]
    foot = {"job": f"{found.count:,} {'job' if found.count == 1 else 'jobs'}", "cost": found.cost}
    empty = ("No jobs match", "Remove a filter, choose another period, or search for a shorter part of the name.")
    return Panel("listing", "Jobs", columns, found.rows, foot=foot, empty=empty)


def _job_link(context: RequestContext, row: Record) -> Link:
    return context.job_figure(row["job"], row["cost"])


def _column(context: RequestContext, name: str) -> Column:
    title, kind = COLUMNS[name]
    if name == "cost":
        title = f"{title} {context.currency}"
    elif name == "rate":
        title = labels.rate_title(context)
    return Column(
        name,
        title,
        kind,
        _filter_link(context, name) if name in FILTERS else None,
        plain_link=True,
        estimated="estimated" if name == "cost" else "",
        minor=name not in SMALL_SCREEN_COLUMNS and not context.query.get_all("column"),
    )


def export(context: RequestContext, path: Path) -> None:
    """Write all matching jobs to a CSV or Parquet file, by its extension, with the API's columns and all digits."""
    with context.book_reader.open(context.viewer, context.books) as opened:
        chargeback.copy(opened.engine, jobs.select_all(opened, context.question, _listing(context)), path)


def groups(context: RequestContext) -> Panel:
    by = _group_key(context)
    if not by:
        raise TrainfareError("by", "there is no key to group jobs by", f"Add by= and one of {', '.join(GROUPS)}.")
    found = context.run(cost.rows, context.question, [by])
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
            "at_least": row.at_least,
            "rate_median": row.rate_median,
            "rate_p95": row.rate_p95,
        }
        for row in found
    ]
    name = by.replace("_", " ")

    def drill(path: str, measure: str, row: Record) -> Link | None:
        return context.drill_kind(path, measure, row["cost"], "jobs", **{by: row["group"] or NONE})

    columns = [
        Column("group", name.capitalize(), "key", lambda row: drill("/jobs", ALLOCATED, row)),
        Column("jobs", "Jobs", "count"),
        Column("wall_seconds", "Wall h", "hours", minor=True),
        Column("gpu_seconds", "GPU h", "hours", minor=True),
        Column(
            "cost",
            f"Cost {context.currency}",
            "money",
            lambda row: drill("/cost-trace", TOTAL, row),
            estimated="estimated",
        ),
        Column("part", "% of jobs", "percent", minor=True),
        Column("rate", labels.rate_title(context), "rate"),
        Column("rate_median", "Median", "rate", minor=True),
        Column("rate_p95", "p95", "rate", minor=True),
    ]
    return Panel("groups", f"Jobs by {name}", columns, rows, foot={"group": "All jobs", "cost": total})


def compare(context: RequestContext) -> Panel:
    """Selected jobs side by side, one row per property, and how each differs from the first."""
    selected = context.query.get_all("pick")
    if len(selected) > MOST_COMPARED:
        raise TrainfareError("pick", f"{len(selected)} jobs selected", f"Compare at most {MOST_COMPARED} jobs at once.")
    found = {}
    for job in selected:
        question = context.job_question(job)
        if rows := context.run(jobs.jobs, question, Listing(limit=1)).rows:
            models = context.run(gpu_models, question)
            found[job] = rows[0] | {"gpu_models": ", ".join(models) or None} | _by_category(context, job)
    of_category = dict.fromkeys(name for record in found.values() for name in record if name.startswith(OF_CATEGORY))
    properties = {name: COLUMNS[name] for name in FIRST_COMPARED}
    properties |= {name: (f"Cost: {name.removeprefix(OF_CATEGORY)}", "money") for name in of_category}
    properties |= {"estimated": ("Estimated part", "money"), "gpu_models": ("GPU models", "text")} | COLUMNS
    rows = [_compared(Column(name, title, kind), found) for name, (title, kind) in properties.items()]
    first, *others = [*found] or [""]
    columns = [
        Column("property", ""),
        *(Column(job, job, "id") for job in found),
        *(Column(f"{job} -", f"{job} vs. {first}", "id", minor=True) for job in others),
    ]
    empty = ("None of these jobs ran in this period", "Choose another period.")
    about = "Differences are to the first job. The filters narrow the cost of all of them." if found else ""
    return Panel("compare", "Comparison", columns, rows if found else [], 12, about, empty=empty)


def _by_category(context: RequestContext, job: str) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for row in context.run(by_category, context.job_question(job)):
        name = f"{OF_CATEGORY}{row['category']}"
        sums[name] = sums.get(name, Decimal(0)) + row["cost"]
    return sums


def _compared(column: Column, found: Mapping[str, Record]) -> dict[str, str]:
    """One property of each job, and its difference to the first job's, if it is a number."""
    row = {"property": column.title} | {job: column.text(record) for job, record in found.items()}
    first = next(iter(found.values()), {}).get(column.name)
    for job, record in [*found.items()][1:]:
        value = record.get(column.name)
        if column.is_number and value is not None and first is not None:
            difference = Decimal(value) - Decimal(first)
            row[f"{job} -"] = f"{'+' if difference > 0 else ''}{format_value(column.kind, difference)}"
    return row


def _group_key(context: RequestContext) -> str:
    by = context.query.get("by")
    if by and by not in GROUPS:
        raise TrainfareError("by", f"jobs cannot be grouped by '{by}'", f"Use one of {', '.join(GROUPS)}.")
    return by


def _column_names(context: RequestContext) -> list[str]:
    chosen = [name for name in COLUMNS if name in context.query.get_all("column")]
    return chosen or list(DEFAULT_COLUMNS)


def _listing(context: RequestContext) -> Listing:
    query = context.query
    sort, order = query.get("sort", "cost"), query.get("order", "desc")
    if sort not in SORTS or order not in ("asc", "desc"):
        raise TrainfareError(
            "sort", f"'{sort} {order}' is not known", f"Use one of {', '.join(SORTS)}, with asc or desc."
        )
    size = query.number("size", 50, 1, 500)
    return Listing(sort, order == "desc", query.get("q"), size, (query.number("page", 1, 1) - 1) * size)


def _sortable(context: RequestContext, request: Listing, column: Column) -> Column:
    """The column with the link that sorts by it; a second click reverses the order."""
    if request.sort == column.name:
        descending, sorted_ = not request.descending, "descending" if request.descending else "ascending"
    else:
        descending, sorted_ = column.is_number or column.kind == "time", ""
    link = context.link_here(sort=column.name, order="desc" if descending else "asc", page=None)
    return replace(column, sort_link=link, sorted=sorted_)


def _filter_link(context: RequestContext, key: str) -> Callable[[Record], str | None]:
    return lambda row: context.link_here(page=None, **{key: row[key] or NONE})


def _paging(context: RequestContext, count: int) -> dict[str, Any]:
    """Which jobs this page shows, of how many, and links to the pages before and after it."""
    request = _listing(context)
    number, last = request.offset // request.limit + 1, max(-(-count // request.limit), 1)
    return {
        "first": min(request.offset + 1, count),
        "last": min(request.offset + request.limit, count),
        "count": count,
        "size": request.limit,
        "previous": context.link_here(page=number - 1) if number > 1 else None,
        "next": context.link_here(page=number + 1) if number < last else None,
    }


PANELS: dict[str, Callable[[RequestContext], Panel]] = {
    "listing": listing,
    "groups": groups,
    "compare": compare,
}
