"""One job: what it cost on each basis, by category, attempt and machine, and how that changed between versions."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from trainfare.report import cost, trend, used
from trainfare.report import job as jobs
from trainfare.report.render import exact, money
from trainfare.tables import LABELS
from trainfare.web.pages import measured
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.frame import BASIS_NAMES
from trainfare.web.pages.panel import Column, Figure, Panel, Sheet, apart, ratio
from trainfare.web.problems import NotThereError

MOST_VERSIONS = 8
MOST_ROWS = 32
MOST_PHASES = 2000
PHASES = ("starting", "checkpoint", "lost")


def sheet(desk: Desk, job: str) -> Sheet:
    facts = desk.ask_of(job, jobs.facts, job)
    if facts is None:
        do = f"It may have run at another time than {desk.window}: choose one, or find it among the jobs."
        raise NotThereError(f"job {job}", "there is no such job in these books", do)
    told = [
        (name.replace("_", " ").capitalize(), str(facts[name]), desk.link("/jobs", **{name: facts[name]}))
        for name in LABELS
        if facts[name]
    ]
    made = [find(desk, job) for find in PANELS.values()]
    crumbs = [("Jobs", desk.link("/jobs"))]
    if facts["team"]:
        crumbs.append((facts["team"], desk.link("/jobs", team=facts["team"])))
    return Sheet(
        job, made, figures(desk, job), crumbs, told, extra={"state": facts["state"], "job": job, "data": {"job": job}}
    )


def figures(desk: Desk, job: str) -> list[Figure]:
    question = desk.of_job(job)
    (held,) = desk.ask_of(job, cost.rows, question, [])
    (told,) = [row for row in desk.ask_of(job, jobs.rates, question) if row["basis"] == question.basis]
    from_ = desk.link("/dollar/job", job=job)
    wall, gpu = f"{Decimal(held.wall_seconds) / 3600:,.1f}", held.gpu_seconds
    apart_ = "Where does it come from?"
    if held.estimated and held.cost is not None:
        apart_ = f"billed {money(held.cost - held.estimated)} + estimated {money(held.estimated)}"
    return [
        Figure("Cost", money(held.cost), desk.currency, apart_, exact(held.cost), from_),
        Figure("Per wall hour", money(told["wall"]), f"{desk.currency} / h", "", exact(told["wall"])),
        Figure("Per GPU hour", money(told["gpu"]), f"{desk.currency} / h", "", exact(told["gpu"])),
        Figure("Held for", wall, "wall h", f"{Decimal(held.unbilled_wall_seconds) / 3600:,.1f} h not billed yet"),
        Figure("GPU hours", "-" if gpu is None else f"{gpu / 3600:,.1f}", "GPU h"),
    ]


def categories(desk: Desk, job: str) -> Panel:
    found = desk.ask_of(job, jobs.by_category, desk.of_job(job))
    total = sum((row["cost"] for row in found), Decimal(0))
    expected = sum((row["estimated"] for row in found), Decimal(0))
    steps = [
        {"name": name}
        | {key: exact(_of(found, name, part)) for key, part in (("value", "cost"), ("estimated", "estimated"))}
        for name in dict.fromkeys(row["category"] for row in found)
    ]
    chart = {
        "kind": "waterfall",
        "unit": desk.currency,
        "steps": [*steps, {"name": "cost", "value": exact(total), "total": True, "estimated": exact(expected)}],
    }
    columns = [
        Column("category", "Category"),
        Column("rule", "Rule", "text", lambda row: desk.link("/rules") + f"#{row['rule'].replace(' ', '-')}"),
        Column(
            *(
                "cost",
                f"Cost {desk.currency}",
                "money",
                lambda row: desk.link("/dollar/job", job=job, rule=row["rule"]),
            ),
            estimated="estimated",
        ),
        Column("part", "Of it", "percent"),
    ]
    rows = [row | {"part": ratio(row["cost"], total)} for row in found]
    foot = {"category": "cost", "cost": total, "estimated": expected}
    return Panel("categories", "Cost by category", columns, rows, 7, chart=chart, foot=foot, keep=True, tall=True)


def _of(found: list[dict[str, Any]], category: str, name: str) -> Decimal:
    return sum((row[name] for row in found if row["category"] == category), Decimal(0))


def bases(desk: Desk, job: str) -> Panel:
    found = desk.ask_of(job, jobs.rates, desk.of_job(job))
    rows = [row | {"basis": BASIS_NAMES[row["basis"]]} for row in found]
    columns = [
        Column("basis", "Cost"),
        Column("cost", desk.currency, "money", estimated="estimated"),
        Column("wall", "Per wall h", "rate"),
        Column("gpu", "Per GPU h", "rate"),
    ]
    about = "A rate divides by the hours that the bill covers; without such hours there is none."
    return Panel("bases", "Rates on each basis", columns, rows, 5, about)


def attempts(desk: Desk, job: str) -> Panel:
    rows = desk.ask_of(job, jobs.attempts, desk.of_job(job))
    spans = desk.ask_of(job, jobs.spans, desk.of_job(job))
    phases = desk.ask_of(job, jobs.phases, desk.of_job(job))
    per_machine = len({span["machine"] for span in spans}) <= MOST_ROWS // 2
    names = [_row(span, per_machine) for span in spans]
    shown = list(dict.fromkeys(names))[:MOST_ROWS]
    chart = {
        "kind": "gantt",
        "rows": shown,
        "spans": [
            {
                "row": shown.index(name),
                "from": _utc(span["started"]),
                "to": _utc(span["ended"]),
                "state": span["state"],
                "attempt": span["attempt"],
            }
            for name, span in zip(names, spans, strict=True)
            if name in shown
        ],
        "phases": _by_attempt(phases),
        "queued": _queued(rows, spans, names, shown),
    }
    columns = [
        Column("attempt", "Attempt", "count"),
        Column("state", "Ended as", "state"),
        *([Column("queued_seconds", "Queued", "seconds")] if chart["queued"] else []),
        Column("started", "Started", "time"),
        Column("ended", "Ended", "time", minor=True),
        Column("machines", "Machines", "count", minor=True),
        Column("gpu_seconds", "GPU h", "hours"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
        Column("rate", "Per GPU h", "rate"),
    ]
    if phases:
        rows = [row | _spent(phases, row["attempt"]) for row in rows]
        columns += [Column(name, name.capitalize(), "seconds") for name in PHASES]
    at_most = any(one["how"] != "measured" for one in phases)
    note = "Where no checkpoints are known, all of an interrupted attempt counts as lost, at most." if at_most else ""
    foot = {name: sum((row[name] or Decimal(0) for row in rows), Decimal(0)) for name in ("cost", "estimated")}
    waiting = "The thin line before it is its time in the queue. " if chart["queued"] else ""
    about = f"Each bar is an attempt holding a machine, with a cross if its work did not come to its end. {waiting}" + (
        "Grey: starting up, until its first step. Strokes: writing a checkpoint. Faded: lost, to be done again."
        if phases
        else "Faded: lost. What of it was training is told where steps and checkpoints are measured."
    )
    size = "small" if len(shown) <= 6 else "r10" if len(shown) <= 12 else "r16" if len(shown) <= 20 else "r24"
    title = "Attempts"
    picture = chart if spans else None
    return Panel("attempts", title, columns, rows, 12, about, picture, size, foot, note=note, keep=True)


def _queued(
    rows: list[dict[str, Any]], spans: list[dict[str, Any]], names: list[str], shown: list[str]
) -> list[dict[str, Any]]:
    """How long each attempt was in the queue, in the row of the machine that it held first."""
    first = {span["attempt"]: name for name, span in reversed([*zip(names, spans, strict=True)])}
    return [
        {
            "row": shown.index(first[row["attempt"]]),
            "from": _utc(row["submitted"]),
            "to": _utc(row["started"]),
            "attempt": row["attempt"],
        }
        for row in rows
        if row["queued_seconds"] and first.get(row["attempt"]) in shown
    ]


def _by_attempt(phases: list[dict[str, Any]]) -> dict[str, list[dict[str, str]]]:
    told: dict[str, list[dict[str, str]]] = {}
    for one in phases[:MOST_PHASES]:
        span = {"from": _utc(one["started"]), "to": _utc(one["ended"]), "phase": one["phase"]}
        told.setdefault(str(one["attempt"]), []).append(span)
    return told


def _spent(phases: list[dict[str, Any]], attempt: int) -> dict[str, int | None]:
    """The seconds of each phase of an attempt. Of one whose checkpoints are not known only the most that it can have lost is told, and
    nothing of one that nothing is known of.
    """
    sums: dict[str, int | None] = dict.fromkeys(PHASES)
    own = [one for one in phases if one["attempt"] == attempt]
    for name in PHASES if any(one["how"] == "measured" for one in own) else {one["phase"] for one in own}:
        sums[name] = sum(int((one["ended"] - one["started"]).total_seconds()) for one in own if one["phase"] == name)
    return sums


def _row(span: dict[str, Any], per_machine: bool) -> str:
    if not per_machine:
        return f"attempt {span['attempt']}"
    machine = span["machine"]
    return f"{span['attempt']} · {machine if len(machine) <= 16 else '…' + machine[-10:]}"


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def days(desk: Desk, job: str) -> Panel:
    found = desk.ask_of(job, trend.by_day, desk.of_job(job), "category")
    when = sorted({row["day"] for row in found})
    names = sorted({row["category"] for row in found})
    by_day: list[dict[str, Any]] = [{} for _ in when]
    for row in found:
        by_day[when.index(row["day"])] |= {
            row["category"]: row["cost"],
            f"{row['category']} estimated": row["estimated"],
        }
    chart = {
        "kind": "bars",
        "unit": desk.currency,
        "stacked": True,
        "labels": [f"{day:%-d %b}" for day in when],
        "series": apart(
            [(name, f"series-{at % 8 + 1}", name, f"{name} estimated") for at, name in enumerate(names)], by_day
        ),
    }
    columns = [
        Column("day", "Day", "day"),
        Column("category", "Category"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
    ]
    return Panel("days", "Cost by day", columns, found, 5, chart=chart, size="small")


def machines(desk: Desk, job: str) -> Panel:
    columns = [
        Column("machine", "Machine", "key", lambda row: desk.link("/debug", machine=row["machine"])),
        Column("gpu_model", "GPU", minor=True),
        Column("pool", "Pool", minor=True),
        Column("region", "Region", minor=True),
        Column("gpu_seconds", "GPU h", "hours"),
        Column("busy", "GPUs busy", "percent"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
    ]
    found = desk.ask_of(job, jobs.machines, desk.of_job(job))
    rows = [row | {"busy": _part(row["busy_seconds"], row["measured_seconds"])} for row in found]
    note = "The line without a machine is money that was not shared on one: by tag, by cluster, by spend."
    return Panel("machines", "Machines", columns, rows, 7, note=note)


def _part(busy: Decimal | None, held: Decimal | None) -> Decimal | None:
    return None if busy is None or held is None else ratio(busy, held)


def checkpoints(desk: Desk, job: str) -> Panel:
    """How the job saves its work."""
    found = desk.ask_of(job, used.checkpoints, desk.of_job(job), len(desk.books))
    columns = [column for column in measured.checkpoint_columns(desk) if column.name not in ("job", "team")]
    about = "How often the job saves its work, how long that takes, and the interval that would lose least."
    empty = measured.unmeasured("No checkpoints were measured", "checkpoint")
    return Panel("checkpoints", "Checkpoints", columns, found, 12, about, empty=empty)


def versions(desk: Desk, job: str) -> Panel:
    """What the job cost in each version of the month, the newest first."""
    month = desk.book.month
    known = [book for book in desk.published.books if book.month == month and not book.is_withdrawn][-MOST_VERSIONS:]
    question = replace(desk.of_job(job), days=None)
    found = [(book, desk.ask_of(job, trend.by_kind, question, books=[book])) for book in known]
    before = [None, *(told["total"] for _, told in found[:-1])]
    rows = [
        {
            "version": book.version,
            "built": book.built_at,
            "cost": told["total"],
            "estimated": told["estimated"],
            "change": None if old is None else told["total"] - old,
        }
        for (book, told), old in zip(found, before, strict=True)
    ]
    columns = [
        Column("version", "Version", "count"),
        Column("built", "Built", "time"),
        Column("cost", f"Cost {desk.currency}", "money", estimated="estimated"),
        Column("change", "Change", "change"),
    ]
    about = f"Each build of {month} that changed something is a version: a bill that came, a rule that changed."
    return Panel("versions", "What changed between versions", columns, rows[::-1], 5, about)


PANELS: dict[str, Callable[[Desk, str], Panel]] = {
    "categories": categories,
    "bases": bases,
    "days": days,
    "attempts": attempts,
    "machines": machines,
    "versions": versions,
    "checkpoints": checkpoints,
}
