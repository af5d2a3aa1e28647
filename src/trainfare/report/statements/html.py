"""A statement as one HTML file that needs nothing else, readable on screen and on A4."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from trainfare.report.statements.layout import grids
from trainfare.report.statements.statement import DEFINITIONS, Statement

SHOWN_JOBS = 200


def render(statement: Statement) -> bytes:
    made = Environment(loader=PackageLoader(__package__, ""), autoescape=True, undefined=StrictUndefined)
    page = made.get_template("statement.html")
    return page.render(one=statement, grids=grids(statement, SHOWN_JOBS), definitions=DEFINITIONS).encode()
