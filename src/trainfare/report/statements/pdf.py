"""A statement as PDF/A, typeset by typst.

PDF/A requires a glyph for every character. Characters that no installed font has are shown as their codes.
"""

import json
import re
from collections.abc import Callable, Iterable
from importlib import resources
from typing import Any

from trainfare.quoting import coded, one_line
from trainfare.report.statements.layout import Grid, figures, grids
from trainfare.report.statements.statement import DEFINITIONS, MissingPackageError, Statement

SHOWN_JOBS = 40
TITLE_LENGTH = 60
WORD_LENGTH = 16
"""Longer words may break anywhere after so many characters, so that a table stays on the page."""
BREAK = "\u200b"
_LONG_WORD = re.compile(rf"(\S{{{WORD_LENGTH}}})(?=\S{{4}})")
_WITHOUT_GLYPH = re.compile(r'the text `"(.+?)"` could not be displayed')
_ESCAPED = re.compile(r"\\u\{([0-9a-f]+)\}")
TRIES = 20


def render(statement: Statement) -> bytes:
    try:
        import typst
    except ModuleNotFoundError:
        raise MissingPackageError("PDF", "typst") from None
    missing: set[str] = set()
    for _ in range(TRIES):
        try:
            return _typeset(statement, missing)
        except typst.TypstError as error:
            found = _without_glyph(str(error)) - missing
            if not found:
                break
            missing |= found
    return _typeset(statement, None)


def _without_glyph(message: str) -> set[str]:
    """Return the characters that an error of the typesetter names because no font has them."""
    names = [_ESCAPED.sub(lambda code: chr(int(code[1], 16)), name) for name in _WITHOUT_GLYPH.findall(message)]
    return {mark for name in names for mark in name if not mark.isascii()}


def _typeset(statement: Statement, missing: Iterable[str] | None) -> bytes:
    """Typeset with these characters as their codes; with all but ASCII as codes if they are not known."""
    import typst

    is_coded = (lambda mark: not mark.isascii()) if missing is None else set(missing).__contains__
    source = resources.files(__package__).joinpath("statement.typ").read_bytes()
    inputs = {"statement": json.dumps(_content(statement, is_coded))}
    document: bytes = typst.compile(source, format="pdf", sys_inputs=inputs, pdf_standards=["a-2b"])
    return document


def _content(statement: Statement, is_coded: Callable[[str], bool]) -> dict[str, Any]:
    def shown(text: str) -> str:
        return _LONG_WORD.sub(rf"\1{BREAK}", coded(one_line(text), is_coded))

    def table(grid: Grid) -> dict[str, Any]:
        return {
            "title": grid.title,
            "columns": [{"name": column.name, "number": column.is_number} for column in grid.columns],
            "rows": [[shown(cell) for cell in row] for row in grid.texts],
            "summed": grid.is_summed,
            "note": grid.note,
        }

    title = coded(one_line(statement.title), is_coded)
    return {
        "title": title if len(title) <= TITLE_LENGTH else f"{title[:TITLE_LENGTH]} ...",
        "month": statement.month,
        "built": [statement.book.built.year, statement.book.built.month, statement.book.built.day],
        "facts": [(name, shown(value)) for name, value in statement.facts],
        "figures": [(one.name, one.text) for one in figures(statement)],
        "grids": [table(grid) for grid in grids(statement, SHOWN_JOBS)],
        "definitions": list(DEFINITIONS.items()),
    }
