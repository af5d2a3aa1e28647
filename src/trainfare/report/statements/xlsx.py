"""A statement as a workbook: a sheet per table. Spreadsheets keep fifteen digits, so the exact amount stands beside as text."""

import io
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from trainfare.errors import TrainfareError
from trainfare.report.statements.layout import Grid, grids, text
from trainfare.report.statements.statement import DEFINITIONS, MOST_JOBS, Statement

NAMES = ("Categories", "Projects", "Jobs", "Ties out")


def render(statement: Statement) -> bytes:
    try:
        import xlsxwriter
    except ModuleNotFoundError:
        do = "Install it with: pip install 'trainfare[statements]'"
        raise TrainfareError("statement", "XLSX needs the package XlsxWriter", do) from None
    out = io.BytesIO()
    # What a job is called is text, whatever it begins with.
    kept = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(out, kept) as book:
        built = datetime.combine(statement.closed.built, time())
        book.set_properties({"title": f"{statement.title}, {statement.month}", "created": built})
        bold, money = book.add_format({"bold": True}), book.add_format({"num_format": "#,##0.00"})
        first = book.add_worksheet("Statement")
        _pairs(first, [("Statement", statement.title), *statement.facts, *statement.figures], bold)
        for name, grid in zip(NAMES, grids(statement, MOST_JOBS), strict=True):
            _sheet(book.add_worksheet(name), grid, bold, money)
        _pairs(book.add_worksheet("Definitions"), list(DEFINITIONS.items()), bold)
    return out.getvalue()


def _pairs(sheet: Any, rows: list[tuple[str, str]], bold: Any) -> None:
    sheet.set_column(0, 0, 22)
    sheet.set_column(1, 1, 60)
    for at, (name, value) in enumerate(rows):
        sheet.write_string(at, 0, name, bold)
        sheet.write_string(at, 1, value)


def _sheet(sheet: Any, grid: Grid, bold: Any, money: Any) -> None:
    """The table, and after its columns the exact digits of its money."""
    sheet.set_column(0, len(grid.columns), 20)
    titles = [name for name, _ in grid.columns] + [f"{grid.columns[-1][0]}, exact"]
    for column, title in enumerate(titles):
        sheet.write_string(0, column, title, bold)
    for at, row in enumerate(grid.rows, 1):
        for column, cell in enumerate(row):
            if isinstance(cell, Decimal):
                sheet.write_number(at, column, cell, money)
            elif isinstance(cell, int):
                sheet.write_number(at, column, cell)
            else:
                sheet.write_string(at, column, text(cell))
        sheet.write_string(at, len(row), text(row[-1]))
    sheet.freeze_panes(1, 0)
    if grid.note:
        sheet.write_string(len(grid.rows) + 2, 0, grid.note)
