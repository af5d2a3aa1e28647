"""One job: its cost on each basis, by category, attempt, machine and day, and how it changed between versions."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from trainfare.job_ids import cluster_of, native_id
from trainfare.money import decimal_text
from trainfare.query import cost, trend, usage
from trainfare.query import job as jobs
from trainfare.query.keys import SCHEDULING
from trainfare.query.selection import NONE
from trainfare.report.render import money
from trainfare.serve.pages import attempts, labels, measurements
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import INTERVAL, RATE, TOTAL, Figure, Link
from trainfare.serve.pages.layout import BASIS_NAMES
from trainfare.serve.pages.panel import (
    Column,
    Page,
    Panel,
    Record,
    SeriesField,
    Stat,
    add_up,
    billed_and_estimated,
    ratio,
)
from trainfare.serve.problems import NotFoundError
from trainfare.tables import LABELS

MOST_VERSIONS = 8


def page(context: RequestContext, name: str) -> Page:
    facts = context.run(jobs.facts, name)
    if facts is None:
        do = f"It may have run in another period than {context.window}: choose one, or search the list of jobs."
        raise NotFoundError(f"job {name}", "no such job in this period", do)
    job = facts["job"]
    names = [
        (name.replace("_", " ").capitalize(), str(facts[name]), context.link("/jobs", **{name: facts[name]}))
        for name in LABELS
        if facts[name]
    ]
    written = {"cluster": cluster_of(job)} | json.loads(facts["labels"] or "{}")
    titles = {"cluster": "Cluster"} | SCHEDULING
    names += [(titles[key], written[key], context.link("/jobs", q=written[key])) for key in titles if written.get(key)]
    breadcrumbs = [("Jobs", context.link("/jobs"))]
    if facts["team"]:
        breadcrumbs.append((facts["team"], context.link("/jobs", team=facts["team"])))
    panels = [build(context, job) for build in PANELS.values()]
    extra = {"state": facts["state"], "job": job, "panel_parameters": {"job": job}}
    return Page(native_id(job), panels, stats(context, job), breadcrumbs, names, extra=extra)


def stats(context: RequestContext, job: str) -> list[Stat]:
    question = context.job_question(job)
    (held,) = context.run(cost.rows, question, [])
    (rate,) = [row for row in context.run(jobs.rates, question) if row["basis"] == question.basis]
    detail = ""
    if held.estimated and held.cost is not None:
        detail = f"billed {money(held.cost - held.estimated)} + estimated {money(held.estimated)}"
    unbilled = (
        f"{Decimal(held.unbilled_wall_seconds) / 3600:,.1f} h of days not billed in full"
        if held.unbilled_wall_seconds
        else ""
    )
    per_wall = held if question.per == "wall" else context.run(cost.rows, replace(question, per="wall"), [])[0]
    return [
        Stat(
            "Cost",
            money(held.cost),
            context.currency,
            detail,
            decimal_text(held.cost),
            context.drill("/cost-trace/job", TOTAL, held.cost, job=job),
            answers=() if held.cost is None else (context.figure(TOTAL, held.cost),),
        ),
        _rate(context, "wall", rate["wall"], labels.rate(per_wall), labels.rate_detail(per_wall)),
        _rate(context, "gpu", rate["gpu"], money(rate["gpu"])),
        Stat("Wall hours", f"{Decimal(held.wall_seconds) / 3600:,.1f}", "h", unbilled),
        Stat("GPU hours", "-" if held.gpu_seconds is None else f"{held.gpu_seconds / 3600:,.1f}", "h"),
        *_intervals(context, job),
    ]


def _intervals(context: RequestContext, job: str) -> list[Stat]:
    """The interval of the job's checkpoints, in each month in which it wrote any."""
    rows = context.run(usage.checkpoints, context.job_question(job), len(context.books))
    seconds = [int(row["interval_seconds"]) for row in rows if row["interval_seconds"]]
    return [
        Stat("Between checkpoints", f"{one:,}", "s", answers=(Figure(INTERVAL, one),)) for one in dict.fromkeys(seconds)
    ]


def _rate(context: RequestContext, per: str, rate: Decimal | None, shown: str, detail: str = "") -> Stat:
    """The cost per hour; the answer to links from rates per this kind of hour."""
    name = {"wall": "wall", "gpu": "GPU"}[per]
    is_asked = rate is not None and context.question.per == per
    answers = (context.figure(RATE, rate or Decimal(0)),) if is_asked else ()
    unit = f"{context.currency} / h"
    return Stat(f"Cost per {name} hour", shown, unit, detail, decimal_text(rate), answers=answers)


def categories(context: RequestContext, job: str) -> Panel:
    found = context.run(jobs.by_category, context.job_question(job))
    sums = add_up(found, "cost", "estimated")
    steps: list[dict[str, Any]] = []
    for name in dict.fromkeys(row["category"] for row in found):
        part = add_up([row for row in found if row["category"] == name], "cost", "estimated")
        steps.append({"name": name, "value": decimal_text(part["cost"]), "estimated": decimal_text(part["estimated"])})
    total = {"name": "total", "value": decimal_text(sums["cost"]), "estimated": decimal_text(sums["estimated"])}
    chart = {"kind": "waterfall", "unit": context.currency, "steps": [*steps, total | {"total": True}]}
    columns = [
        Column("category", "Category"),
        Column("rule", "Rule", "text", lambda row: context.link("/rules") + f"#{row['rule'].replace(' ', '-')}"),
        Column(
            "cost",
            f"Cost {context.currency}",
            "money",
            lambda row: context.drill(
                "/cost-trace/job", TOTAL, row["cost"], job=job, rule=row["rule"], category=row["category"]
            ),
            estimated="estimated",
        ),
        Column("part", "% of cost", "percent"),
    ]
    rows = [row | {"part": ratio(row["cost"], sums["cost"])} for row in found]
    foot = {"category": "Total"} | sums
    return Panel("categories", "Cost by category", columns, rows, 7, chart=chart, foot=foot, table_open=True, tall=True)


def bases(context: RequestContext, job: str) -> Panel:
    found = context.run(jobs.rates, context.job_question(job))
    rows = [row | {"basis": BASIS_NAMES[row["basis"]], "basis_key": row["basis"]} for row in found]

    def of_basis(row: Record) -> Link | None:
        return context.drill(context.path, TOTAL, row["cost"], basis=row["basis_key"])

    columns = [
        Column("basis", "Cost basis"),
        Column("cost", f"Cost {context.currency}", "money", of_basis, estimated="estimated"),
        Column("wall", "Per wall h", "rate"),
        Column("gpu", "Per GPU h", "rate"),
    ]
    about = "Rates per wall hour count the days that are billed in full; rates per GPU hour divide by billed GPU hours."
    return Panel("bases", "Cost and rates by cost basis", columns, rows, 5, about)


def days(context: RequestContext, job: str) -> Panel:
    found = context.run(trend.by_day, context.job_question(job), "category")
    dates = sorted({row["day"] for row in found})
    names = sorted({row["category"] for row in found})
    by_date: dict[Any, dict[str, Any]] = {day: {} for day in dates}
    for row in found:
        by_date[row["day"]] |= {row["category"]: row["cost"], f"{row['category']} estimated": row["estimated"]}

    def of_day(row: Record) -> Link | None:
        return context.drill("/cost-trace/job", TOTAL, row["cost"], job=job, day=row["day"], category=row["category"])

    fields = [SeriesField(name, f"series-{at % 8 + 1}", name, f"{name} estimated") for at, name in enumerate(names)]
    chart = {
        "kind": "bars",
        "unit": context.currency,
        "stacked": True,
        "labels": [f"{day:%-d %b}" for day in dates],
        "series": billed_and_estimated(fields, list(by_date.values())),
    }
    columns = [
        Column("day", "Day", "day"),
        Column("category", "Category"),
        Column("cost", f"Cost {context.currency}", "money", of_day, estimated="estimated"),
    ]
    return Panel("days", "Cost by day", columns, found, 5, chart=chart, size="small")


def machines(context: RequestContext, job: str) -> Panel:

    def of_machine(row: Record) -> Link | None:
        return context.drill("/cost-trace", TOTAL, row["cost"], job=job, machine=row["machine"] or NONE)

    columns = [
        Column("machine", "Machine", "key", of_machine),
        Column("gpu_model", "GPU model", minor=True),
        Column("pool", "Pool", "id", minor=True),
        Column("region", "Region", "id", minor=True),
        Column("gpu_seconds", "GPU h", "hours"),
        Column("busy", "GPU utilization", "percent"),
        Column("cost", f"Cost {context.currency}", "money", of_machine, estimated="estimated"),
    ]
    found = context.run(jobs.machines, context.job_question(job))
    rows = [row | {"busy": _utilization(row["busy_seconds"], row["measured_seconds"])} for row in found]
    note = "The row without a machine is cost that was allocated by tag, cluster or spend instead of by machine."
    return Panel("machines", "Machines", columns, rows, 7, note=note)


def _utilization(busy: Decimal | None, held: Decimal | None) -> Decimal | None:
    return None if busy is None or held is None else ratio(busy, held)


def checkpoints(context: RequestContext, job: str) -> Panel:
    found = context.run(usage.checkpoints, context.job_question(job), len(context.books))
    columns = [column for column in measurements.checkpoint_columns(context) if column.name not in ("job", "team")]
    about = (
        "How often the job writes a checkpoint, how long that takes, and the interval that would lose the least work."
    )
    empty = measurements.unmeasured("No checkpoints measured", "checkpoint")
    return Panel("checkpoints", "Checkpoints", columns, found, 12, about, empty=empty)


def versions(context: RequestContext, job: str) -> Panel:
    """What the job cost in each version of the month, newest first."""
    month = context.book.month
    books = [book for book in context.published.books if book.month == month and not book.is_withdrawn][-MOST_VERSIONS:]
    question = replace(context.job_question(job), days=None)
    found = [(book, context.run(trend.by_payer_kind, question, books=[book])) for book in books]
    previous = [None, *(sums["total"] for _, sums in found[:-1])]
    rows = [
        {
            "version": book.version,
            "built": book.built_at,
            "cost": sums["total"],
            "estimated": sums["estimated"],
            "change": None if old is None else sums["total"] - old,
        }
        for (book, sums), old in zip(found, previous, strict=True)
    ]
    columns = [
        Column("version", "Version", "count"),
        Column("built", "Built", "time"),
        Column("cost", f"Cost {context.currency}", "money", estimated="estimated"),
        Column("change", "Change", "change"),
    ]
    about = f"Every build of {month} that changed something is a new version: a late bill, a changed rule."
    return Panel("versions", "Cost by version", columns, rows[::-1], 5, about)


PANELS: dict[str, Callable[[RequestContext, str], Panel]] = {
    "categories": categories,
    "bases": bases,
    "days": days,
    "attempts": attempts.panel,
    "machines": machines,
    "versions": versions,
    "checkpoints": checkpoints,
}
