"""A statement as a workbook: one sheet per table, with numbers as numbers, and exact amounts as text in an appendix."""

import io
from collections.abc import Mapping
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from trainfare.quoting import one_line
from trainfare.report.statements.layout import Cell, Grid, Kind, figures, grids, text
from trainfare.report.statements.statement import DEFINITIONS, MAX_JOBS, MissingPackageError, Statement

NUMBER_FORMATS = {"count": "#,##0", "hours": "#,##0.0", "money": "#,##0.00", "rate": "#,##0.0000"}
MAX_PROPERTY_LENGTH = 200

Formats = Mapping[str, Any]


def render(statement: Statement) -> bytes:
    try:
        import xlsxwriter
    except ModuleNotFoundError:
        raise MissingPackageError("XLSX", "XlsxWriter") from None
    out = io.BytesIO()
    # The name of a job is text, whatever it begins with.
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(out, options) as book:
        built = datetime.combine(statement.book.built, time())
        title = one_line(f"{statement.title}, {statement.month}")
        book.set_properties({"title": title[:MAX_PROPERTY_LENGTH], "created": built})
        formats = {kind: book.add_format({"num_format": code}) for kind, code in NUMBER_FORMATS.items()}
        formats["bold"] = book.add_format({"bold": True})
        first = book.add_worksheet("Statement")
        facts: list[tuple[str, Cell, Kind]] = [
            (name, value, "text") for name, value in (("Statement", statement.title), *statement.facts)
        ]
        _pairs(first, [*facts, *((one.name, one.value, one.kind) for one in figures(statement))], formats)
        for grid in grids(statement, MAX_JOBS):
            _sheet(book.add_worksheet(grid.sheet), grid, formats)
        _pairs(
            book.add_worksheet("Definitions"), [(name, text_, "text") for name, text_ in DEFINITIONS.items()], formats
        )
    return out.getvalue()


def _write(sheet: Any, at: tuple[int, int], cell: Cell, kind: Kind, formats: Formats) -> None:
    """Write a number as a number, in the format of its kind, and anything else as text."""
    if isinstance(cell, int | Decimal):
        sheet.write_number(*at, cell, formats[kind])
    else:
        sheet.write_string(*at, one_line(text(cell, kind)))


def _pairs(sheet: Any, rows: list[tuple[str, Cell, Kind]], formats: Formats) -> None:
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, 60)
    for at, (name, value, kind) in enumerate(rows):
        sheet.write_string(at, 0, name, formats["bold"])
        _write(sheet, (at, 1), value, kind, formats)


def _sheet(sheet: Any, grid: Grid, formats: Formats) -> None:
    sheet.set_column(0, len(grid.columns) - 1, 24)
    for number, column in enumerate(grid.columns):
        sheet.write_string(0, number, column.name, formats["bold"])
    for at, row in enumerate(grid.rows, 1):
        for number, (cell, column) in enumerate(zip(row, grid.columns, strict=True)):
            _write(sheet, (at, number), cell, column.kind, formats)
    sheet.freeze_panes(1, 0)
    if grid.note:
        sheet.write_string(len(grid.rows) + 2, 0, grid.note)
