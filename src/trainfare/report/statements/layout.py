"""What stands in a statement, in order: every form of it prints these tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from trainfare.report.render import exact, hours
from trainfare.report.slice import NONE
from trainfare.report.statements.statement import Statement

Cell = str | int | Decimal | None


@dataclass(frozen=True)
class Grid:
    """A table: `columns` are names and whether they hold numbers; the last row is a sum where `is_summed`."""

    title: str
    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Cell]]
    is_summed: bool = False
    note: str = ""

    @property
    def texts(self) -> list[list[str]]:
        return [[text(cell) for cell in row] for row in self.rows]


def text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, Decimal):
        return exact(cell) or "-"
    return f"{cell:,}" if isinstance(cell, int) else cell


def grids(statement: Statement, most_jobs: int) -> list[Grid]:
    unit = statement.question.currency
    own = statement.row.cost or Decimal(0)
    summed = sum((cost for _, cost in statement.categories), Decimal(0))
    ties = [*statement.ties, ("All parts", statement.total), ("The bill says", statement.bill)]
    told = "It ties out to the last digit." if statement.ties_out else "It does not tie out: do not file it."
    jobs = statement.jobs[:most_jobs]
    left = statement.job_count - len(jobs)
    return [
        Grid(
            "By category",
            [("Category", False), (f"Cost {unit}", True)],
            [*statement.categories, ("all", summed)],
            is_summed=True,
        ),
        Grid(
            "By project",
            [("Project", False), ("Jobs", True), ("Wall h", True), ("GPU h", True), (f"Cost {unit}", True)],
            [
                *(
                    (one.group["project"] or NONE, one.jobs, hours(one.wall_seconds), hours(one.gpu_seconds), one.cost)
                    for one in statement.projects
                ),
                ("all", statement.row.jobs, hours(statement.row.wall_seconds), hours(statement.row.gpu_seconds), own),
            ],
            is_summed=True,
        ),
        Grid(
            "Jobs, dearest first",
            [
                ("Job", False),
                ("Project", False),
                ("Owner", False),
                ("State", False),
                ("GPU h", True),
                (f"Cost {unit}", True),
            ],
            [
                (one["job"], one["project"], one["owner"], one["state"], hours(one["gpu_seconds"]), one["cost"])
                for one in jobs
            ],
            note=f"And {left:,} more; all of them: trainfare export" if left else "",
        ),
        Grid(
            "How it ties out to the bill",
            [("Part of the bill", False), (f"Cost {unit}", True)],
            [*ties, ("Difference", statement.total - statement.bill)],
            is_summed=True,
            note=told,
        ),
    ]
