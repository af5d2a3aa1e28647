"""A cost report for people: as a table or Markdown."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from rich.table import Table
from rich.text import Text

from trainfare import quoting
from trainfare.money import decimal_text
from trainfare.query import conversions
from trainfare.query.cost import PRODUCTIVE, Report, Row
from trainfare.query.open_books import Covered
from trainfare.report.documents import HOUR, non_job_payers

CENT = Decimal("0.01")
NONE = "-"
NO_VALUE = "(none)"
"""A group whose key is unknown: a job without that label, or a payer that is not a job."""
MOST_GROUPS = 10
"""How many groups of idle cost are listed below a table; JSON has all of them."""
NUMBER_COLUMNS = 8
"""The last columns of a report, which hold numbers; the ones before them are keys."""


def money(value: Decimal | None, places: int = 2) -> str:
    """Format money for people: with thousands separators, in cents; tiny amounts keep two significant digits."""
    if value is None:
        return NONE
    if value and abs(value) < CENT / 2:
        # Never an exponent: not everybody who reads a bill can read one.
        return f"{Decimal(f'{value:.1e}').normalize():f}" if abs(value) < Decimal("0.00005") else f"{value:,.4f}"
    return f"{value:,.{places}f}"


def time(seconds: int | Decimal | None) -> str:
    return NONE if seconds is None else f"{Decimal(seconds) / HOUR:,.1f}"


def headline(report: Report) -> str:
    question = report.question
    through = report.covered.complete_through
    billed = f", billed through {through:%Y-%m-%d %H:%M}" if through else ""
    unit = {"wall": "wall-clock hour", "gpu": "GPU hour"}.get(
        question.per
    ) or f"GPU hour {PRODUCTIVE[question.productive]}"
    return (
        f"Cost per {unit}, {period(report.covered)} "
        f"({question.currency}, {question.basis} cost, {question.scope} scope{billed})"
    )


def period(covered: Covered) -> str:
    """Return the first and the last day of what an answer covers, both included."""
    last = covered.end - timedelta(days=1)
    return f"{covered.start:%Y-%m-%d}" + (f" to {last:%Y-%m-%d}" if last > covered.start else "")


def lines(report: Report) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """Return the header, one line per group, and the final lines that tie out to the bill."""
    names = list(report.overall.group) if not report.rows else list(report.rows[0].group)
    unit = "wall h" if report.question.per == "wall" else "GPU h"
    header = [*names, "jobs", "wall h", "GPU h", "cost", "of all", f"per {unit}", "median", "p95"]
    body = (
        [[*(_cell(row.group[name]) for name in names), *_numbers(row, report.total)] for row in report.rows]
        if names
        else []
    )
    blank = [""] * (len(names) - 1)
    first = ["all jobs", *blank] if names else ["jobs"]
    # Cost that is nobody's has no team, so a filter by team leaves nothing of it to show.
    listed = [one for one in non_job_payers(report) if one[1].cost or not report.question.filters]
    sums = [(name, payer.cost, payer.estimated) for name, payer in listed]
    sums.append(("TOTAL", report.total, report.estimated))
    closing = [[*first, *_numbers(report.overall, report.total)]]
    closing += [_sum_line(name, blank, cost, part, report.total) for name, cost, part in sums]
    if rest := report.remaining:
        closing.insert(0, _sum_line(f"... {rest.groups:,} more", blank, rest.cost, rest.estimated, report.total))
    return header if names else ["payer", *header], body, closing


def _sum_line(name: str, blank: list[str], cost: Decimal | None, estimated: Decimal, total: Decimal) -> list[str]:
    """Return a line with only a cost."""
    share = NONE if cost is None else _share(cost, total)
    return [name, *blank, "", "", "", _marked(cost, estimated), share, "", "", ""]


def _cell(value: Any) -> str:
    return NO_VALUE if value is None else quoting.one_line(str(value))


def _numbers(row: Row, total: Decimal) -> list[str]:
    return [
        f"{row.jobs:,}" if row.jobs else NONE,
        time(row.wall_seconds),
        time(row.gpu_seconds),
        _marked(row.cost, row.estimated),
        NONE if row.cost is None else _share(row.cost, total),
        rate(row),
        money(row.rate_median),
        money(row.rate_p95),
    ]


def rate(row: Row) -> str:
    """Format a rate for people; without one, what is known of it as a lower bound."""
    return money(row.rate) if row.at_least is None else f">={money(row.at_least)}"


def _marked(cost: Decimal | None, estimated: Decimal) -> str:
    """Format money for people; a tilde marks cost that is at least partly estimated."""
    return f"~{money(cost)}" if estimated else money(cost)


def _share(part: Decimal, total: Decimal) -> str:
    if not total:
        return NONE
    percent = f"{part / total:.1%}"
    return "0.0%" if percent == "-0.0%" else percent


OPTIONAL_COLUMNS = ("p95", "median", "of all", "jobs")
"""Columns that a table drops, in this order, if it would otherwise truncate names or amounts."""
NAME_WIDTH = 16
"""The width that names get at least; longer ones are folded."""


def _dropped_columns(width: int, keys: int, per: str) -> set[str]:
    """Return the columns that a narrow terminal drops, so that keys and amounts are not truncated."""
    dropped = set()
    if width < 100:
        dropped |= {"median", "p95"}
    if width < 90:
        dropped |= {"of all"}
        dropped |= {"GPU h" if per == "wall" else "wall h"} if keys > 1 else set()
        dropped |= {"jobs"} if keys > 2 else set()
    return dropped


def left_out(report: Report, width: int) -> list[str]:
    """Return the columns that a table of this width leaves out."""
    dropped, _ = _fitted(report, width)
    return [name for name in lines(report)[0] if name in dropped]


def _fitted(report: Report, width: int) -> tuple[set[str], list[int]]:
    """Return the columns that do not fit, and the width of every column."""
    header, body, closing = lines(report)
    texts = len(header) - NUMBER_COLUMNS
    dropped = _dropped_columns(width, texts, report.question.per)
    widths = [max(len(row[index]) for row in (header, *body, *closing)) for index in range(len(header))]
    widths = [min(wide, NAME_WIDTH) if index < texts else wide for index, wide in enumerate(widths)]
    for name in OPTIONAL_COLUMNS:
        if sum(wide + 2 for wide, title in zip(widths, header, strict=True) if title not in dropped) > width:
            dropped |= {name}
    return dropped, widths


def as_table(report: Report, width: int) -> Table:
    """Return the report for a terminal of this width. Narrow terminals and large amounts drop some columns."""
    header, body, closing = lines(report)
    texts = len(header) - NUMBER_COLUMNS
    dropped, widths = _fitted(report, width)
    table = Table(header_style="bold", box=None, padding=(0, 1), pad_edge=False)
    shown = [index for index in range(len(header)) if header[index] not in dropped]
    for index in shown:
        numeric = index >= texts
        table.add_column(
            header[index],
            justify="right" if numeric else "left",
            no_wrap=numeric,
            min_width=None if numeric else widths[index],
            overflow="fold" if not numeric else "ellipsis",
        )
    for row in body:
        table.add_row(*(Text(row[index]) for index in shown))
    for number, row in enumerate(closing):
        style = "bold" if row[0] == "TOTAL" else "dim" if row[0].startswith(("__", "...")) else ""
        if number == 0 and body:
            table.add_section()
        table.add_row(*(Text(row[index], style=style) for index in shown))
    return table


def reconciliation_text(report: Report) -> str:
    """Return the line that compares the total with the bill, and those on its estimated and converted parts."""
    ties = "tie" if report.is_part and len(report.covered.months) > 1 else "ties"
    verdict = f"{ties} to the bill" if report.difference == 0 else "DOES NOT TIE TO THE BILL"
    amount = f"{money(report.bill)} {report.question.currency}, difference {decimal_text(report.difference)}"
    if report.is_part:
        months = ", ".join(map(str, report.covered.months))
        books = "book" if len(report.covered.months) == 1 else "books"
        verdict = f"a part of the {books} of {months}, which as a whole {verdict}"
    found = [f"{verdict}: {amount}"]
    if report.estimated:
        found.append(
            f"~ partly estimated: billed {money(report.total - report.estimated)} "
            f"+ estimated {money(report.estimated)} = {money(report.total)} {report.question.currency}"
        )
    return "\n".join([*found, *conversions.describe(report.conversions)])


def as_markdown(report: Report) -> str:
    header, body, closing = lines(report)
    texts = len(header) - NUMBER_COLUMNS
    rule = ["---" if index < texts else "---:" for index in range(len(header))]
    rows = [[quoting.markdown(cell) for cell in row] for row in (header, *body, *closing)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))
    return f"**{headline(report)}**\n\n{table}\n\n{quoting.visible(reconciliation_text(report))}\n"


def _known(value: Any) -> str:
    return NO_VALUE if value is None else quoting.one_line(str(value))


def rate_notes(report: Report) -> list[str]:
    """Return what rates leave out, and the cost that they divide if it is not that of the books."""
    found, overall, currency = [], report.overall, report.question.currency
    several = any(finding["code"] == "TWO_CURRENCIES" for finding in report.findings)
    within = f" in {currency}" if several else ""
    if report.question.per == "wall" and overall.unbilled_wall_seconds:
        hours_ = time(overall.unbilled_wall_seconds)
        found.append(
            f"  {hours_} wall-clock hours are of days that are not billed in full{within}; rates exclude them."
        )
    elif report.question.per != "wall" and overall.unbilled_gpu_seconds:
        found.append(
            f"  {time(overall.unbilled_gpu_seconds)} GPU hours are not on the bill{within}; rates exclude them."
        )
    if overall.rate_cost is not None and overall.rate_cost != overall.cost:
        found.append(
            f"  Rates divide {money(overall.rate_cost)} {currency}: the cost of billed days, in whichever book."
        )
    if overall.at_least is not None:
        part = "" if overall.billed_part is None else f": {overall.billed_part:.1%} of the GPU hours are billed"
        found.append(f"  No day is billed in full{part}. Rates marked >= are lower bounds.")
    return found


def notes(report: Report) -> list[str]:
    """Return what a reader should know besides the figures: why cost has no job, unbilled hours, and findings."""
    found = []
    if report.remaining:
        count = len(report.rows) + report.remaining.groups
        found.append(
            f"  Showing the {len(report.rows):,} most expensive of {count:,} groups: "
            "--top changes the number, --format csv lists all."
        )
    for name, payer in non_job_payers(report):
        found += [f"  {name}: {money(cost)} {reason}" for reason, cost in payer.reasons[:4] if cost]
        found += [
            f"  {name}: {money(cost)} in {', '.join(f'{key} {_known(value)}' for key, value in group.items())}"
            for group, cost in payer.groups[:MOST_GROUPS]
        ]
    if report.accuracy and report.accuracy.relative_error is not None:
        error = f"{report.accuracy.relative_error:.1%}"
        found.append(f"  Estimates of the last {report.accuracy.days} days were within {error} of the bill.")
    found += rate_notes(report)
    for finding in report.findings[:5]:
        stake = f" ({money(finding['at_stake'])} {finding['currency']} at stake)" if finding["at_stake"] else ""
        found.append(f"! {finding['code']} x{finding['rows']}: {finding['what']}{stake}")
        found.append(f"    {finding['remedy']}")
    if len(report.findings) > 5:
        found.append(f"! and {len(report.findings) - 5} more findings: --format json lists all of them.")
    return found
