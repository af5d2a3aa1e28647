"""The rules in effect when the book was built, with the cost each matched and who it was allocated to."""

from collections.abc import Callable

from trainfare.query.rule_usage import by_rule
from trainfare.query.selection import PAYER_KINDS
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.panel import Column, Page, Panel, add_up
from trainfare.serve.pages.spend import PAYER_NAMES, payer_kind_series


def page(context: RequestContext) -> Page:
    return Page("Rules", [rules(context)])


def rules(context: RequestContext) -> Panel:
    rows = context.run(by_rule, context.question.basis, context.currency, books=[context.book])
    for number, row in enumerate(rows, 1):
        row["number"], row["muted"] = number, not row["lines"]
    columns = [
        Column("number", "#", "count"),
        Column("rule", "Rule", "id", lambda row: context.link("/cost-trace", rule=row["rule"])),
        Column("goes_to", "Allocation", "payer", minor=True),
        Column("lines", "Bill lines", "count", minor=True),
        Column("matched", f"Matched {context.currency}", "money", estimated="estimated"),
        *(Column(kind, PAYER_NAMES[kind], "money", estimated=f"{kind}_estimated") for kind in PAYER_KINDS),
    ]
    used = [row for row in rows if row["matched"]]
    chart = {
        "kind": "stacked_horizontal_bars",
        "unit": context.currency,
        "labels": [row["rule"] for row in used],
        "series": payer_kind_series(used),
        "links": [context.link("/cost-trace", rule=row["rule"]) for row in used],
    }
    foot = {"rule": "Total"} | add_up(
        rows, "matched", "estimated", *PAYER_KINDS, *(f"{kind}_estimated" for kind in PAYER_KINDS)
    )
    about = (
        "Every charge is allocated by the first rule that matches it. Your own rules come before the built-in ones; "
        "rules in gray matched nothing. To backtest other rules: trainfare rules test"
    )
    title = f"Cost by rule: {context.book.month}, version {context.book.version}"
    size = "small" if len(used) <= 4 else "r10" if len(used) <= 9 else "r16"
    return Panel("rules", title, columns, rows, 12, about, chart, size, foot, table_open=True)


PANELS: dict[str, Callable[[RequestContext], Panel]] = {"rules": rules}
