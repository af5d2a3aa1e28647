"""`trainfare explain`: trace a job's cost to rules, pots and bill lines."""

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainfare import quoting
from trainfare.cli import options, period, published, terminal
from trainfare.cli.job_trace import Answer, JobTrace
from trainfare.errors import TrainfareError
from trainfare.money import decimal_text
from trainfare.query.window import Window
from trainfare.report import records
from trainfare.report.documents import utc_text
from trainfare.report.render import money

if TYPE_CHECKING:
    from trainfare.books.reopen import ConvertedLine


FIRST_ROWS = 20
FIRST_CONVERTED = 3
"""How many lines of native bills are shown with their conversion, unless all rows are."""
WIDE = 140
"""From this width on, a terminal has room for the weights next to their ratio."""
RULE_COLUMNS = ("rule", "among", "weighed_by", "category", "pots", "cost")
NARROW_POTS = ("when", "attempt", "scope", "category", "pot", "unit", "of_total", "part")
WIDE_POTS = ("when", "attempt", "scope", "category", "pot", "weight", "total_weight", "unit", "of_total", "part")
LINE_COLUMNS = ("when", "file", "file_line", "description", "converted", "line_amount", "part")
UNITS = {
    "gpu_seconds": "GPU time",
    "cpu_seconds": "CPU time",
    "memory": "memory x time",
    "dominant": "dominant share x time",
    "bytes_sent": "bytes or GPU time",
    "requests": "requests or GPU time",
    "wall_seconds": "time",
    "evenly": "attempts",
    "spend": "millionths of spend",
}
"""What weights count, by the allocation basis of the rule."""


@dataclass(frozen=True)
class Section:
    """A table of the explanation."""

    title: str
    rows: list[dict[str, Any]]
    columns: Sequence[str]


@click.command()
@click.argument("job")
@options.workspace_option
@period.period_options
@period.where_option
@click.option("--version", type=int, help="A version of the month.  [default: the newest]")
@options.basis_option
@options.currency_option
@click.option("--lines", "with_lines", is_flag=True, help="Show the bill lines, too.")
@click.option("--all", "all_rows", is_flag=True, help=f"Show every row, not only the first {FIRST_ROWS}.")
@options.format_option()
def explain(
    job: str,
    workspace: Path,
    month: str | None,
    start: str | None,
    end: str | None,
    where: tuple[str, ...],
    version: int | None,
    basis: str,
    currency: str | None,
    with_lines: bool,
    all_rows: bool,
    format_: str,
) -> None:
    """Trace the cost of JOB to rules, pots, weights and bill lines, which add up to the published figure.

    Without a month, it is the newest one that has the job. With times, it is the cost of these hours.

    \b
    trainfare explain JOB --from 2026-10-05 --to 2026-10-11
    trainfare explain JOB --from 2026-10-05T06:00Z --to 2026-10-05T18:00Z --where category=compute
    """
    wanted = period.parse(month, start, end)
    if version and wanted.is_days:
        raise TrainfareError("--version", "days are in books of several versions", "Use it with --month.")
    with ExitStack() as stack, terminal.progress() as progress:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        trace = JobTrace(store, job, basis, currency, config.currency)
        answer = trace.answer(wanted, version, where, progress)
        lines = [(line["delivery"], line["line"]) for line in answer.found.lines]
        shown = lines[: 100_000 if all_rows else FIRST_CONVERTED]
        answer = replace(answer, converted=trace.converted(shown) if with_lines else [])
    _show(answer, with_lines, all_rows, format_)


def _show(answer: Answer, with_lines: bool, all_rows: bool, format_: str) -> None:
    found = answer.found
    if format_ == "json":
        print(_json(answer))
    elif format_ == "csv":
        print(records.as_csv(found.lines), end="")
    else:
        max_rows = 100_000 if all_rows else FIRST_ROWS
        print_section = _print_markdown if format_ == "md" else _print_table
        for section in _sections(answer, with_lines, is_wide=format_ == "md" or terminal.width() >= WIDE):
            print_section(section, max_rows)
        for one in answer.converted:
            print_section(_conversion_section(one), 100_000)
        _print_sum(answer, with_lines)
        _print_others(answer)


def _print_others(answer: Answer) -> None:
    """Print what other books have for the job, and the command that explains it."""
    for month, cost in answer.others.items():
        line = options.command(f"explain {shlex.quote(answer.found.job_id)} --month {month}")
        terminal.show(f"It also has {money(cost)} {answer.found.currency} in the book of {month}: {line}")


def _sections(answer: Answer, with_lines: bool, is_wide: bool) -> Iterator[Section]:
    """Yield the rules, the pots and, if wanted, the bill lines of a job."""
    found = answer.found
    title = f"Job {found.job_id}, {_covered(answer)}: {money(found.stored)} {found.currency} ({found.basis} cost)"
    yield Section(title, found.rules, RULE_COLUMNS)
    pots = [
        pot
        | {"when": _when(pot), "unit": UNITS.get(pot["weighed_by"], pot["weighed_by"])}
        | {"of_total": f"{pot['weight'] / pot['total_weight']:.2%}"}
        for pot in sorted(found.pots, key=lambda pot: -abs(pot["part"]))
    ]
    title = "Pots, highest cost first: part = pot x weight / total weight; each pot has its own scale of weights"
    yield Section(title, pots, WIDE_POTS if is_wide else NARROW_POTS)
    if with_lines:
        is_converted = any(line["converted_from"] for line in found.lines)
        rows = [line | {"when": _when(line), "converted": _converted(line)} for line in found.lines]
        yield Section("Bill lines", rows, [name for name in LINE_COLUMNS if is_converted or name != "converted"])


def _covered(answer: Answer) -> str:
    """Return what the answer covers: a book, days of which the last is included, or hours."""
    if answer.times is None:
        return f"{answer.books[0].month} version {answer.books[0].version}"
    start, end = answer.times
    if start.time() == end.time() == datetime.min.time():
        return str(Window(start.date(), end.date()))
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def _conversion_section(one: "ConvertedLine") -> Section:
    """Return how a row of a native bill became a charge: the row's values, the expression and the FOCUS value."""
    from trainfare.report.converted_rows import side_by_side

    title = f"{one.file}:{one.file_line}, from the row on the bill to FOCUS"
    rows = side_by_side(one.conversion)
    return Section(title, rows, ("focus_column", "focus_value", "native_columns", "mapping"))


def _print_table(section: Section, max_rows: int) -> None:
    terminal.show(records.as_table(section.title, section.rows, section.columns, max_rows))
    terminal.show("")


def _print_markdown(section: Section, max_rows: int) -> None:
    left_out = len(section.rows) - max_rows
    more = f"\n{terminal.count(left_out, 'more row')}; show all with --all\n" if left_out > 0 else ""
    print(
        f"### {quoting.markdown(section.title)}\n\n{records.as_markdown(section.rows[:max_rows], section.columns)}{more}"
    )


def _print_sum(answer: Answer, with_lines: bool) -> None:
    """Print the sum of the parts next to the published figure; hours have no published figure."""
    found = answer.found
    by_spend = sum(pot["part"] for pot in found.pots if pot["period_start"] is None)
    if with_lines and by_spend:
        terminal.show(f"Pots split by spend: {decimal_text(by_spend)}, a part of every line that their rules match")
    stored, explained = decimal_text(found.stored), decimal_text(found.explained)
    published_ = f" Published: {stored}." if answer.times is None else ""
    terminal.show(f"Sum of the parts: {explained} {found.currency}.{published_}")
    if not with_lines:
        terminal.message("Show the bill lines with --lines, every row with --all.")


def _converted(line: dict[str, Any]) -> str:
    """Return the amount of a line before conversion, and the rate."""
    if not line["converted_from"]:
        return ""
    rate = f"{line['rate'].normalize():f} of {line['rate_day']}, {line['rate_source']}"
    return f"{decimal_text(line['original'])} {line['converted_from']} x {rate}"


def _when(pot: dict[str, Any]) -> str:
    """Return the period of a pot as start and length; pots split by spend are for the month, shown by day."""
    if pot["period_start"] is None:
        return f"{pot['day']}"
    hours = (pot["period_end"] - pot["period_start"]).total_seconds() / 3600
    length = f"{hours:g} h" if hours < 24 else f"{hours / 24:g} d"
    return f"{pot['period_start']:%m-%d %H:%M} +{length}"


def _json(answer: Answer) -> str:
    def plain(rows: list[dict[str, object]]) -> list[dict[str, object]]:
        return [{key: records.json_value(value) for key, value in row.items()} for row in rows]

    found, single = answer.found, answer.books[0] if answer.times is None else None
    return json.dumps(
        {
            "schema_version": 1,
            "job": found.job_id,
            "month": str(single.month) if single else None,
            "version": single.version if single else None,
            **({} if answer.times is None else {"window": _window(answer)}),
            "basis": found.basis,
            "currency": found.currency,
            "cost": decimal_text(found.stored),
            "explained": decimal_text(found.explained),
            "other_months": [{"month": str(one), "cost": decimal_text(cost)} for one, cost in answer.others.items()],
            "rules": plain(found.rules),
            "pots": plain(found.pots),
            "lines": plain(found.lines),
            "conversions": [
                {
                    "file": one.file,
                    "file_line": one.file_line,
                    "native": plain([one.conversion.native])[0],
                    "mapping": one.conversion.expressions,
                    "focus": plain([one.conversion.focus])[0],
                }
                for one in answer.converted
            ],
        },
        indent=2,
    )


def _window(answer: Answer) -> dict[str, Any]:
    assert answer.times is not None
    start, end = map(utc_text, answer.times)
    return {"start": start, "end": end, "books": [str(book.month) for book in answer.books]}
