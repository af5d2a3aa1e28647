"""The rules in force when the book was built, with what each took and who pays for it."""

from collections.abc import Callable
from decimal import Decimal

from trainfare.report.slice import KINDS
from trainfare.report.taken import taken
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Column, Panel, Sheet
from trainfare.web.pages.spend import NAMES, kinds_apart


def sheet(desk: Desk) -> Sheet:
    return Sheet("Rules", [rules(desk)])


def rules(desk: Desk) -> Panel:
    rows = desk.ask(taken, desk.question.basis, desk.currency, books=[desk.book])
    for number, row in enumerate(rows, 1):
        row["number"], row["quiet"] = number, not row["lines"]
    columns = [
        Column("number", "#", "count"),
        Column("rule", "Rule", "id", lambda row: desk.link("/dollar", rule=row["rule"])),
        Column("goes_to", "Shares", "id", minor=True),
        Column("lines", "Lines", "count", minor=True),
        Column("taken", f"Took {desk.currency}", "money", estimated="estimated"),
        *(Column(kind, NAMES[kind], "money", estimated=f"{kind}_estimated") for kind in KINDS),
    ]
    used = [row for row in rows if row["taken"]]
    chart = {
        "kind": "stacked_ranks",
        "unit": desk.currency,
        "labels": [row["rule"] for row in used],
        "series": kinds_apart(used),
        "links": [desk.link("/dollar", rule=row["rule"]) for row in used],
    }
    foot = {"rule": "all"} | {
        name: sum((row[name] or Decimal(0) for row in rows), Decimal(0))
        for name in ("taken", "estimated", *KINDS, *(f"{kind}_estimated" for kind in KINDS))
    }
    about = (
        "A charge is taken by the first rule that matches it, so by exactly one. Rules of yours come before the built-in ones; "
        "those in grey took nothing. To try others: trainfare rules test"
    )
    title = f"What each rule took of {desk.book.month}, version {desk.book.version}"
    size = "small" if len(used) <= 4 else "r10" if len(used) <= 9 else "r16"
    return Panel("rules", title, columns, rows, 12, about, chart, size, foot, keep=True)


PANELS: dict[str, Callable[[Desk], Panel]] = {"rules": rules}
