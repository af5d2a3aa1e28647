"""A statement as one self-contained HTML file, for the screen and for A4 paper."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from trainfare.quoting import visible_value
from trainfare.report.statements.layout import figures, grids
from trainfare.report.statements.statement import DEFINITIONS, Statement

SHOWN_JOBS = 200


def render(statement: Statement) -> bytes:
    environment = Environment(
        loader=PackageLoader(__package__, ""), autoescape=True, undefined=StrictUndefined, finalize=visible_value
    )
    page = environment.get_template("statement.html")
    tables = grids(statement, SHOWN_JOBS)
    return page.render(statement=statement, figures=figures(statement), grids=tables, definitions=DEFINITIONS).encode()
