"""Lists of records as a table, Markdown, CSV or JSON, for every command but the cost report."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from rich.table import Table
from rich.text import Text

from trainfare import quoting
from trainfare.money import decimal_text
from trainfare.report.documents import utc_text
from trainfare.report.render import NONE, money


def json_value(value: Any) -> Any:
    """Return a value as JSON writes it: money as decimal text, times in UTC."""
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, datetime):
        return utc_text(value)
    return value.isoformat() if isinstance(value, date) else value


def as_json(name: str, records: Sequence[dict[str, Any]], **facts: Any) -> str:
    """Return records under a name, after the schema version and facts about all of them."""
    content = {
        "schema_version": 1,
        **facts,
        name: [{key: json_value(value) for key, value in record.items()} for record in records],
    }
    return json.dumps(content, indent=2)


def csv_value(value: Any) -> Any:
    """Return a value as CSV has it: what JSON has, with text that nothing executes."""
    plain = json_value(value)
    return quoting.csv_text(plain) if isinstance(value, str) else plain


def as_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return records as CSV, quoted as RFC 4180 and `quoting.csv_text` describe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if records:
        writer.writerow(map(quoting.csv_text, records[0]))
        writer.writerows([csv_value(value) for value in record.values()] for record in records)
    return out.getvalue()


def as_table(title: str, records: Sequence[dict[str, Any]], columns: Sequence[str], limit: int = 40) -> Table:
    """Return the first records for a terminal; the last line gives the number of the others."""
    table = Table(
        title=Text(quoting.one_line(title)) if title else None,
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
            Text(quoting.one_line(name.replace("_", " "))),
            justify="right" if numeric else "left",
            no_wrap=numeric,
            overflow="fold",
        )
    for record in records[:limit]:
        table.add_row(*(Text(quoting.one_line(_cell(record[name]))) for name in columns))
    if len(records) > limit:
        table.add_row(f"... {len(records) - limit} more", *("" for _ in columns[1:]))
    return table


def fitting_columns(
    records: Sequence[dict[str, Any]], columns: Sequence[str], optional: Sequence[str], width: int
) -> list[str]:
    """Return the columns that fit a terminal of this width; optional ones are dropped first, in their order."""
    shown = list(columns)
    for name in optional:
        if sum(_width(records, one) + 2 for one in shown) <= width:
            break
        if name in shown:
            shown.remove(name)
    return shown


def _width(records: Sequence[dict[str, Any]], column: str) -> int:
    return max(len(column), *(len(quoting.one_line(_cell(record[column]))) for record in records))


def as_markdown(records: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    return markdown_table(
        columns, ["---"] * len(columns), ([_cell(record[name]) for name in columns] for record in records)
    )


def markdown_table(header: Sequence[str], rule: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells are nothing but text."""
    written = [[quoting.markdown(cell) for cell in row] for row in (header, *rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (written[0], rule, *written[1:])) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, Decimal):
        return money(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
