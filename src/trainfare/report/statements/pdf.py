"""A statement as PDF/A, set by typst."""

import json
from importlib import resources

from trainfare.errors import TrainfareError
from trainfare.report.statements.layout import grids
from trainfare.report.statements.statement import DEFINITIONS, Statement

SHOWN_JOBS = 40


def render(statement: Statement) -> bytes:
    try:
        import typst
    except ModuleNotFoundError:
        do = "Install it with: pip install 'trainfare[statements]'"
        raise TrainfareError("statement", "PDF needs the package typst", do) from None
    told = {
        "title": statement.title,
        "month": statement.month,
        "built": [statement.closed.built.year, statement.closed.built.month, statement.closed.built.day],
        "facts": statement.facts,
        "figures": statement.figures,
        "grids": [
            {
                "title": grid.title,
                "columns": [{"name": name, "number": number} for name, number in grid.columns],
                "rows": grid.texts,
                "summed": grid.is_summed,
                "note": grid.note,
            }
            for grid in grids(statement, SHOWN_JOBS)
        ],
        "definitions": list(DEFINITIONS.items()),
    }
    source = resources.files(__package__).joinpath("statement.typ").read_bytes()
    made: bytes = typst.compile(source, format="pdf", sys_inputs={"told": json.dumps(told)}, pdf_standards=["a-2b"])
    return made
