"""A bill line traced to everyone who pays a part of it."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import DuckDB
from trainfare.tables import BASES, CONVERTED

_SHOWN = (
    *("period_start", "period_end", "source", "currency", "charge_category", "service_name", "provider", "account"),
    *("region", "resource_id", "sku_id", "description", *CONVERTED, *BASES),
)


@dataclass(frozen=True)
class LinePayers:
    """`parts` has the sum of the payers' parts per cost basis, which equals the amount of the line."""

    file: str
    file_line: int
    line: dict[str, Any]
    parts: dict[str, Decimal]
    payers: list[dict[str, Any]]


def payers(engine: DuckDB, delivery: int, line: int) -> LinePayers | None:
    """Read the tables that `allocate.lineage` made; None if the month has no such line."""
    where = f"WHERE delivery = {delivery} AND line = {line}"
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    found = engine.records(
        "SELECT payer_kind, payer, job_id AS job, attempt, reason, machine_id AS machine, day, category, rule, among, "
        f"weighed_by, weight, total_weight, {', '.join(BASES)} "
        f"FROM allocations {where} ORDER BY abs(effective) DESC, payer, day"
    )
    if not found:
        return None
    charge = engine.records(f"SELECT {', '.join(_SHOWN)} FROM keyed_charges {where}")[0]
    file_line = f"abs({line}) // lines_per_row + header_lines"
    path, number = engine.row(f"SELECT path, {file_line} FROM delivered_files WHERE delivery = {delivery}")
    (parts,) = engine.records(f"SELECT {sums} FROM allocations {where}")
    return LinePayers(path, number, charge, parts, found)
