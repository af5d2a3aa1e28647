"""The rules in effect when the books were built, with the selected cost of each and who it was allocated to."""

from collections.abc import Callable

from trainfare.money import decimal_text
from trainfare.query import trend
from trainfare.query.rule_usage import by_rule
from trainfare.query.selection import PAYER_KINDS
from trainfare.report.render import money
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.figures import TOTAL, Link
from trainfare.serve.pages.panel import Column, Page, Panel, Record, Stat, add_up
from trainfare.serve.pages.spend import PAYER_NAMES, bar_links, payer_kind_series


def page(context: RequestContext) -> Page:
    return Page("Rules", [rules(context)], [total_stat(context)])


def total_stat(context: RequestContext) -> Stat:
    """The cost that the rules matched, for links that lead here."""
    total = context.run(trend.by_payer_kind, context.question)["total"]
    detail = ", ".join(f"{book.month}, version {book.version}" for book in context.books)
    return Stat(
        "Total",
        money(total),
        context.currency,
        detail,
        decimal_text(total),
        context.drill("/cost-trace", TOTAL, total),
        answers=(context.figure(TOTAL, total),),
    )


def rules(context: RequestContext) -> Panel:
    rows = context.run(by_rule, context.question)
    for number, row in enumerate(rows, 1):
        row["number"], row["muted"] = number, row["matched"] is None

    def trace(row: Record) -> Link | None:
        return context.drill("/cost-trace", TOTAL, row["matched"], rule=row["rule"])

    def trace_kind(kind: str) -> Callable[[Record], Link | None]:
        return lambda row: context.drill_kind("/cost-trace", TOTAL, row[kind], kind, rule=row["rule"])

    has_lines = any(row["lines"] is not None for row in rows)
    columns = [
        Column("number", "#", "count"),
        Column("rule", "Rule", "id", trace),
        Column("goes_to", "Allocation", "payer", minor=True),
        *([Column("lines", "Bill lines", "count", minor=True)] if has_lines else []),
        Column("matched", f"Matched {context.currency}", "money", trace, estimated="estimated"),
        *(
            Column(kind, PAYER_NAMES[kind], "money", trace_kind(kind), estimated=f"{kind}_estimated")
            for kind in PAYER_KINDS
            if context.selects(kind)
        ),
    ]
    used = [row for row in rows if row["matched"]]
    chart = {
        "kind": "stacked_horizontal_bars",
        "unit": context.currency,
        "labels": [row["rule"] for row in used],
        "series": payer_kind_series(used),
        **bar_links([trace(row) for row in used]),
    }
    foot = {"rule": "Total"} | add_up(
        rows, "matched", "estimated", *PAYER_KINDS, *(f"{kind}_estimated" for kind in PAYER_KINDS)
    )
    about = (
        "Every charge is allocated by the first rule that matches it. Your own rules come before the built-in ones; "
        "rules in gray matched nothing. To backtest other rules: trainfare rules test."
    )
    if not has_lines and (context.query.filters or context.window.days):
        about += " Numbers of bill lines are shown for whole months without filters."
    size = "small" if len(used) <= 4 else "r10" if len(used) <= 9 else "r16"
    return Panel("rules", "Cost by rule", columns, rows, 12, about, chart, size, foot, table_open=True)


PANELS: dict[str, Callable[[RequestContext], Panel]] = {"rules": rules}
