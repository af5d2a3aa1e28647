"""A report as people and programs read it: table, Markdown, CSV or JSON."""

import csv
import io
import json
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from rich.table import Table
from rich.text import Text

from trainfare.report import converted
from trainfare.report.converted import Converted
from trainfare.report.cost import PRODUCTIVE, More, Pseudo, Report, Row

SCHEMA_VERSION = 1
HOUR = Decimal(3600)
CENT = Decimal("0.01")
NONE = "-"
NOT_TOLD = "(none)"
"""A group whose key is not known: a job without that label, or a payer that is no job."""
FIGURES = 8
"""Columns of a report that are figures; the ones before them are keys."""


def exact(value: Decimal | None) -> str | None:
    """A decimal as a plain string with all of its digits, at least two after the point."""
    if value is None:
        return None
    whole, _, places = f"{value:f}".partition(".")
    kept = places.rstrip("0")
    return f"{whole}.{kept:<02}" if len(kept) < 2 else f"{whole}.{kept}"


def hours(seconds: int | Decimal | None) -> str | None:
    """Seconds as hours, to a millionth."""
    if seconds is None:
        return None
    return exact((Decimal(seconds) / HOUR).quantize(Decimal("0.000001"), ROUND_HALF_EVEN))


def moment(value: datetime | None) -> str | None:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if value else None


def as_json(report: Report) -> str:
    """The documented shape that scripts rely on."""
    asked = report.question
    return json.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "currency": asked.currency,
            "basis": asked.basis,
            "per": asked.per,
            **({"productive": asked.productive} if asked.per == "productive" else {}),
            "scope": asked.scope,
            "window": {
                "start": moment(report.start),
                "end": moment(report.end),
                "complete_through": moment(report.complete_through),
            },
            "rows": [row(one) for one in report.rows],
            **({"more": _more(report.more)} if report.more else {}),
            "overall": row(report.overall),
            "idle": _pseudo(report.idle),
            "unallocated": _pseudo(report.unallocated),
            "outside": _pseudo(report.outside),
            "total": exact(report.total),
            "bill": exact(report.bill),
            "estimated": exact(report.estimated),
            "difference": exact(report.difference),
            "conversions": [_conversion(one) for one in report.conversions],
            "findings": [_finding(finding) for finding in report.findings],
        },
        indent=2,
    )


def row(told: Row) -> dict[str, Any]:
    """One group as programs read it."""
    return {key: _plain(value) for key, value in told.group.items()} | {
        "cost": exact(told.cost),
        "wall_hours": hours(told.wall_seconds),
        "gpu_hours": hours(told.gpu_seconds),
        "rate": exact(told.rate),
        "rate_median": exact(told.rate_median),
        "rate_p95": exact(told.rate_p95),
        "jobs": told.jobs,
        "unbilled_wall_hours": hours(told.unbilled_wall_seconds),
        "unbilled_gpu_hours": hours(told.unbilled_gpu_seconds),
        "estimated": exact(told.estimated),
    }


def _more(more: More) -> dict[str, Any]:
    return {"groups": more.groups, "cost": exact(more.cost), "estimated": exact(more.estimated)}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _pseudo(payer: Pseudo) -> dict[str, Any]:
    return {
        "cost": exact(payer.cost),
        "estimated": exact(payer.estimated),
        "reasons": [
            {"reason": why, "cost": exact(cost), "estimated": exact(payer.expected[why])} for why, cost in payer.reasons
        ],
    }


def _conversion(one: Converted) -> dict[str, Any]:
    return {
        "from": one.converted_from,
        "to": one.currency,
        "rate": exact(one.rate),
        "rate_day": one.rate_day.isoformat(),
        "rate_source": one.rate_source,
        "lines": one.lines,
        "original": exact(one.original),
        "converted": exact(one.converted),
    }


def _finding(finding: dict[str, Any]) -> dict[str, Any]:
    return finding | {"evidence": json.loads(finding["evidence"]), "at_stake": exact(finding["at_stake"])}


def as_csv(report: Report) -> str:
    """One line per group, then the payers that are no job and the total; the first columns are the keys."""
    names = list(report.rows[0].group) if report.rows else list(report.question.by)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    figures = ("cost", "wall_hours", "gpu_hours", "rate", "rate_median", "rate_p95", "jobs", "estimated")
    writer.writerow(["payer", *names, *figures, "currency"])
    for one in report.rows:
        told = row(one)
        writer.writerow(
            ["jobs", *(told[name] for name in names), *(told[name] for name in figures), report.question.currency]
        )
    together = [
        *([("more", report.more.cost, report.more.estimated)] if report.more else []),
        *((name, payer.cost, payer.estimated) for name, payer in _no_jobs(report)),
        ("total", report.total, report.estimated),
    ]
    for name, cost, estimated in together:
        blank = ["" for _ in figures[2:]]
        writer.writerow([name, *("" for _ in names), exact(cost), *blank, exact(estimated), report.question.currency])
    return out.getvalue()


def _no_jobs(report: Report) -> tuple[tuple[str, Pseudo], ...]:
    """The payers that are no job, by their names."""
    return ("__idle__", report.idle), ("__unallocated__", report.unallocated), ("__outside__", report.outside)


def money(value: Decimal | None, places: int = 2) -> str:
    """Money for eyes: thousands apart, rounded to cents; tiny amounts keep what makes them more than nothing."""
    if value is None:
        return NONE
    if value and abs(value) < CENT / 2:
        # Two digits that count, and never an exponent: not everybody who reads a bill reads those.
        return f"{Decimal(f'{value:.1e}').normalize():f}" if abs(value) < Decimal("0.00005") else f"{value:,.4f}"
    return f"{value:,.{places}f}"


def time(seconds: int | Decimal | None) -> str:
    return NONE if seconds is None else f"{Decimal(seconds) / HOUR:,.1f}"


def headline(report: Report) -> str:
    asked = report.question
    last = report.end.fromtimestamp(report.end.timestamp() - 1, report.end.tzinfo)
    through = f", billed through {report.complete_through:%Y-%m-%d %H:%M}" if report.complete_through else ""
    unit = {"wall": "wall-clock hour", "gpu": "GPU hour"}.get(asked.per) or f"GPU hour {PRODUCTIVE[asked.productive]}"
    return (
        f"Cost per {unit}, {report.start:%Y-%m-%d} to {last:%Y-%m-%d} "
        f"({asked.currency}, {asked.basis} cost, {asked.scope} scope{through})"
    )


def lines(report: Report) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """Header, one line per group, and the closing lines that tie out to the bill."""
    names = list(report.overall.group) if not report.rows else list(report.rows[0].group)
    unit = "wall h" if report.question.per == "wall" else "GPU h"
    header = [*names, "jobs", "wall h", "GPU h", "cost", "of all", f"per {unit}", "median", "p95"]
    body = (
        [[*(_cell(row.group[name]) for name in names), *_figures(row, report.total)] for row in report.rows]
        if names
        else []
    )
    blank = [""] * (len(names) - 1)
    first = ["all jobs", *blank] if names else ["jobs"]
    together = [(name, payer.cost, payer.estimated) for name, payer in _no_jobs(report)]
    together.append(("TOTAL", report.total, report.estimated))
    closing = [[*first, *_figures(report.overall, report.total)]]
    closing += [_together(name, blank, cost, part, report.total) for name, cost, part in together]
    if more := report.more:
        closing.insert(0, _together(f"... {more.groups:,} more", blank, more.cost, more.estimated, report.total))
    return header if names else ["payer", *header], body, closing


def _together(name: str, blank: list[str], cost: Decimal | None, estimated: Decimal, total: Decimal) -> list[str]:
    """A line of money alone."""
    share = NONE if cost is None else _share(cost, total)
    return [name, *blank, "", "", "", _marked(cost, estimated), share, "", "", ""]


def _cell(value: Any) -> str:
    return NOT_TOLD if value is None else str(value)


def _figures(row: Row, total: Decimal) -> list[str]:
    return [
        f"{row.jobs:,}" if row.jobs else NONE,
        time(row.wall_seconds),
        time(row.gpu_seconds),
        _marked(row.cost, row.estimated),
        NONE if row.cost is None else _share(row.cost, total),
        money(row.rate),
        money(row.rate_median),
        money(row.rate_p95),
    ]


def _marked(cost: Decimal | None, estimated: Decimal) -> str:
    """Money for eyes; what is estimated in part or whole has a mark."""
    return f"~{money(cost)}" if estimated else money(cost)


def _share(part: Decimal, whole: Decimal) -> str:
    if not whole:
        return NONE
    told = f"{part / whole:.1%}"
    return "0.0%" if told == "-0.0%" else told


SPARED = ("p95", "median", "of all", "jobs")
"""Columns that a table does without, in this order, where it would else cut names or amounts."""
NAME_WIDTH = 16
"""What a name has at least; longer ones are folded."""


def _left_out(width: int, keys: int, per: str) -> set[str]:
    """The columns a narrow terminal does without, so that the keys and the money are not cut."""
    left_out = set()
    if width < 100:
        left_out |= {"median", "p95"}
    if width < 90:
        left_out |= {"of all"}
        left_out |= {"GPU h" if per == "wall" else "wall h"} if keys > 1 else set()
        left_out |= {"jobs"} if keys > 2 else set()
    return left_out


def as_table(report: Report, width: int) -> Table:
    """The report for a terminal of this width; narrow ones do without the spread of job rates, and so do large amounts."""
    header, body, closing = lines(report)
    texts = len(header) - FIGURES
    left_out = _left_out(width, texts, report.question.per)
    widths = [max(len(row[index]) for row in (header, *body, *closing)) for index in range(len(header))]
    widths = [min(wide, NAME_WIDTH) if index < texts else wide for index, wide in enumerate(widths)]
    for name in SPARED:
        if sum(wide + 2 for wide, title in zip(widths, header, strict=True) if title not in left_out) > width:
            left_out |= {name}
    table = Table(header_style="bold", box=None, padding=(0, 1), pad_edge=False)
    kept = [index for index in range(len(header)) if header[index] not in left_out]
    for index in kept:
        numeric = index >= texts
        table.add_column(
            header[index],
            justify="right" if numeric else "left",
            no_wrap=numeric,
            min_width=None if numeric else widths[index],
            overflow="fold" if not numeric else "ellipsis",
        )
    for row in body:
        table.add_row(*(row[index] for index in kept))
    for number, row in enumerate(closing):
        style = "bold" if row[0] == "TOTAL" else "dim" if row[0].startswith(("__", "...")) else ""
        if number == 0 and body:
            table.add_section()
        table.add_row(*(Text(row[index], style=style) for index in kept))
    return table


def tie(report: Report) -> str:
    """The line that ties the total to the bill, and what of it is estimated or was converted."""
    verdict = "ties to the bill" if report.difference == 0 else "DOES NOT TIE TO THE BILL"
    told = [f"{verdict}: {money(report.bill)} {report.question.currency}, difference {exact(report.difference)}"]
    if report.estimated:
        told.append(
            f"~ estimated in part: billed {money(report.total - report.estimated)} + estimated {money(report.estimated)} "
            f"= {money(report.total)} {report.question.currency}"
        )
    return "\n".join([*told, *converted.told(report.conversions)])


def as_markdown(report: Report) -> str:
    header, body, closing = lines(report)
    texts = len(header) - FIGURES
    rule = ["---" if index < texts else "---:" for index in range(len(header))]
    rows = [header, rule, *body, *closing]
    escaped = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return f"**{headline(report)}**\n\n{escaped}\n\n{tie(report)}\n"


def notes(report: Report) -> list[str]:
    """What a reader should know beside the figures: why money has no job, hours without a bill, what is wrong."""
    told = []
    if report.more:
        told.append(
            f"  The {len(report.rows):,} dearest of {len(report.rows) + report.more.groups:,} groups are told one by one: "
            "--top tells others, --format csv all."
        )
    for name, payer in _no_jobs(report):
        told += [f"  {name}: {money(cost)} {why}" for why, cost in payer.reasons[:4] if cost]
    if report.accuracy and report.accuracy.off is not None:
        told.append(
            f"  Our estimates of the last {report.accuracy.days} days were within {report.accuracy.off:.1%} of the bill."
        )
    if report.overall.unbilled_wall_seconds:
        several = any(finding["code"] == "TWO_CURRENCIES" for finding in report.findings)
        of = f" in {report.question.currency}" if several else ""
        told.append(
            f"  {time(report.overall.unbilled_wall_seconds)} wall-clock hours are not on the bill{of}; rates leave them out."
        )
    for finding in report.findings[:5]:
        stake = f" ({money(finding['at_stake'])} {finding['currency']} at stake)" if finding["at_stake"] else ""
        told.append(f"! {finding['code']} x{finding['rows']}: {finding['what']}{stake}")
        told.append(f"    {finding['remedy']}")
    if len(report.findings) > 5:
        told.append(f"! and {len(report.findings) - 5} more findings: --format json lists all of them.")
    return told
