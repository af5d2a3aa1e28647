"""The tables of a statement, in order; every format prints them. Amounts are in cents; an appendix has all digits."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from trainfare.money import decimal_text
from trainfare.query.cost import Row
from trainfare.query.selection import NONE
from trainfare.report.statements.statement import Statement

Cell = str | int | Decimal | None
Kind = Literal["text", "count", "hours", "money", "rate"]
HOUR = Decimal(3600)
PLACES = {"count": 0, "hours": 1, "money": 2, "rate": 4}
"""The decimal places that each kind of number is shown with."""
UNKNOWN = "-"


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind = "text"

    @property
    def is_number(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Grid:
    """A table of values; the last row is a sum if `is_summed`. `sheet` is its name in a workbook."""

    title: str
    sheet: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    is_summed: bool = False
    note: str = ""

    @property
    def texts(self) -> list[list[str]]:
        return [[text(cell, column.kind) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A number at the top of a statement."""

    name: str
    value: Cell
    kind: Kind

    @property
    def text(self) -> str:
        return text(self.value, self.kind)


def text(cell: Cell, kind: Kind) -> str:
    """Return a value as people read it: with thousands separators, money in cents, rates in hundredths of a cent."""
    if cell is None:
        return UNKNOWN
    return cell if isinstance(cell, str) else f"{cell:,.{PLACES[kind]}f}"


def figures(statement: Statement) -> list[Figure]:
    """Return the numbers at the top of a statement."""
    row, currency = statement.row, statement.question.currency
    unit = "wall hour" if statement.question.per == "wall" else "GPU hour"
    return [
        Figure(f"Total cost {currency}", row.cost or Decimal(0), "money"),
        Figure(f"of which estimated {currency}", row.estimated, "money"),
        Figure("Jobs", row.jobs, "count"),
        Figure("Wall hours", _hours(row.wall_seconds), "hours"),
        Figure("GPU hours", _hours(row.gpu_seconds), "hours"),
        Figure(f"Rate {currency} per {unit}", row.rate, "rate"),
        *_rate_figures(row, currency, unit),
    ]


def _rate_figures(row: Row, currency: str, unit: str) -> list[Figure]:
    """Return the cost that the rate divides if it is not the total, or what the rate is at least."""
    found = []
    if row.rate_cost is not None and row.rate_cost != row.cost:
        found.append(Figure(f"Cost in the rate {currency}", row.rate_cost, "money"))
    if row.at_least is not None:
        found.append(Figure(f"At least {currency} per {unit}", row.at_least, "rate"))
    return found


def grids(statement: Statement, max_jobs: int) -> list[Grid]:
    """Return the tables of a statement, with at most this many jobs; the last is the appendix of exact amounts."""
    tables = [_categories(statement), _projects(statement), _jobs(statement, max_jobs), _reconciliation(statement)]
    return [*tables, _exact_amounts(statement, tables)]


def _hours(seconds: int | Decimal | None) -> Decimal | None:
    return None if seconds is None else Decimal(seconds) / HOUR


def _cost_column(statement: Statement) -> Column:
    return Column(f"Cost {statement.question.currency}", "money")


def _categories(statement: Statement) -> Grid:
    total = sum((cost for _, cost in statement.categories), Decimal(0))
    columns = [Column("Category"), _cost_column(statement)]
    return Grid("By category", "Categories", columns, [*statement.categories, ("all", total)], is_summed=True)


def _projects(statement: Statement) -> Grid:
    hours = [Column("Jobs", "count"), Column("Wall h", "hours"), Column("GPU h", "hours")]
    columns = [Column("Project"), *hours, _cost_column(statement)]
    total, cost = statement.row, statement.row.cost or Decimal(0)
    rows: list[Sequence[Cell]] = [
        (one.group["project"] or NONE, one.jobs, _hours(one.wall_seconds), _hours(one.gpu_seconds), one.cost)
        for one in statement.projects
    ]
    rows.append(("all", total.jobs, _hours(total.wall_seconds), _hours(total.gpu_seconds), cost))
    return Grid("By project", "Projects", columns, rows, is_summed=True)


def _jobs(statement: Statement, max_jobs: int) -> Grid:
    texts = [Column(name) for name in ("Job", "Project", "Owner", "State")]
    columns = [*texts, Column("GPU h", "hours"), _cost_column(statement)]
    jobs = statement.jobs[:max_jobs]
    rows = [
        (one["job"], one["project"], one["owner"], one["state"], _hours(one["gpu_seconds"]), one["cost"])
        for one in jobs
    ]
    left = statement.job_count - len(jobs)
    note = f"{left:,} more; for all jobs: trainfare export" if left else ""
    return Grid("Jobs, highest cost first", "Jobs", columns, rows, note=note)


def _reconciliation(statement: Statement) -> Grid:
    columns = [Column("Part of the bill"), _cost_column(statement)]
    difference = statement.total - statement.bill
    sums = [("All parts", statement.total), ("Bill", statement.bill), ("Difference", difference)]
    verdict = "It ties out to the last digit." if statement.ties_out else "It does not tie out: do not file it."
    rows = [*statement.ties, *sums]
    return Grid("Reconciliation with the bill", "Ties out", columns, rows, is_summed=True, note=verdict)


def _exact_amounts(statement: Statement, tables: Sequence[Grid]) -> Grid:
    """The appendix: every amount of money with all of its digits, as text, because spreadsheets keep fifteen."""
    columns = [Column("Table"), Column("Row"), Column(f"Exact amount {statement.question.currency}")]
    rows: list[Sequence[Cell]] = [
        ("Statement", figure.name, _digits(figure.value))
        for figure in figures(statement)
        if figure.kind in ("money", "rate")
    ]
    for grid in tables:
        rows += [(grid.title, row[0], _digits(row[-1])) for row in grid.rows]
    note = "The tables above show cents. These are the amounts that add up to the bill, to the last digit."
    return Grid("Appendix: exact amounts", "Exact amounts", columns, rows, note=note)


def _digits(value: Cell) -> str:
    return decimal_text(value) or UNKNOWN if isinstance(value, Decimal) else UNKNOWN
