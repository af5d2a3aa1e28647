"""Records as people and programs read them: one way for every list that is no report."""

import csv
import io
import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from rich.table import Table

from trainfare.report.render import NONE, exact, moment, money


def plain(value: Any) -> Any:
    """A value as JSON has it: money exact, times in UTC."""
    if isinstance(value, Decimal):
        return exact(value)
    if isinstance(value, datetime):
        return moment(value)
    return value.isoformat() if isinstance(value, date) else value


def as_json(name: str, records: Sequence[dict[str, Any]], **beside: Any) -> str:
    told = {
        "schema_version": 1,
        **beside,
        name: [{key: plain(value) for key, value in record.items()} for record in records],
    }
    return json.dumps(told, indent=2)


def as_csv(records: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if records:
        writer.writerow(records[0])
        writer.writerows([plain(value) for value in record.values()] for record in records)
    return out.getvalue()


def as_table(title: str, records: Sequence[dict[str, Any]], columns: Sequence[str], most: int = 40) -> Table:
    """The first rows for a terminal; the last line says how many there are beside them."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
        padding=(0, 1),
        pad_edge=False,
    )
    for name in columns:
        numeric = any(isinstance(record[name], int | Decimal) for record in records)
        table.add_column(
            name.replace("_", " "), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold"
        )
    for record in records[:most]:
        table.add_row(*(_cell(record[name]) for name in columns))
    if len(records) > most:
        table.add_row(f"... {len(records) - most} more", *("" for _ in columns[1:]))
    return table


def fitting(records: Sequence[dict[str, Any]], columns: Sequence[str], spared: Sequence[str], width: int) -> list[str]:
    """The columns that a terminal of this width has room for; the spared ones go first, in their order."""
    kept = list(columns)
    for name in spared:
        if sum(_wide(records, one) + 2 for one in kept) <= width:
            break
        if name in kept:
            kept.remove(name)
    return kept


def _wide(records: Sequence[dict[str, Any]], column: str) -> int:
    return max(len(column), *(len(_cell(record[column])) for record in records))


def as_markdown(records: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    rows = [list(columns), ["---"] * len(columns), *([_cell(record[name]) for name in columns] for record in records)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, Decimal):
        return money(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
