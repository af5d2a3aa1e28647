"""A job's money opened: rules, pots, weights and bill lines, adding up to the published figure."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.tables import ESTIMATED


@dataclass(frozen=True)
class Explanation:
    """`opened` is the sum of the parts shown, `stored` what the book says; they are the same."""

    job_id: str
    basis: str
    currency: str
    rules: list[dict[str, Any]]
    pots: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    opened: Decimal
    stored: Decimal


class NoJobError(TrainfareError):
    """A job that is not in a book, and the names there that are near."""

    def __init__(self, job_id: str, month: str, near: list[str], listed_with: str) -> None:
        do = f"Did you mean {', '.join(near)}?" if near else f"List them with: {listed_with}"
        super().__init__("explain", f"there is no job '{job_id}' in the book of {month}", do)
        self.near = near


def require_job(engine: DuckDB, job_id: str, month: str) -> None:
    """A job that the book does not have is refused, with names that are near."""
    if engine.row(f"SELECT count(*) FROM attempts WHERE job_id = {quoted(job_id)}")[0]:
        return
    near = engine.rows(
        f"SELECT job_id FROM (SELECT DISTINCT job_id, jaro_winkler_similarity(job_id, {quoted(job_id)}) AS alike FROM attempts) "
        "WHERE alike > 0.8 ORDER BY alike DESC, job_id LIMIT 3"
    )
    raise NoJobError(job_id, month, [name for (name,) in near], f"trainfare report --by job --month {month}")


def stored(engine: DuckDB, job_id: str, basis: str, currency: str) -> Decimal:
    """What the book says the job costs."""
    amount: Decimal = engine.row(
        f"SELECT coalesce(sum({basis}), 0) FROM shares WHERE job_id = {quoted(job_id)} AND currency = {quoted(currency)}"
    )[0]
    return amount


def explanation(engine: DuckDB, job_id: str, basis: str, currency: str, booked: Decimal) -> Explanation:
    """Add up what `attribute.lineage` opened. Reads `job_lines`, `job_spend` and the deliveries' names."""
    where = f"WHERE currency = {quoted(currency)}"
    estimated = f"CASE WHEN source = {quoted(ESTIMATED)} THEN j.{basis} ELSE 0 END"
    lines = engine.records(
        f"SELECT attempt, rule, category, scope, period_start, period_end, day, weighed_by, weight, whole, "
        f"j.delivery, j.line, d.path AS file, "
        f"abs(line) // d.lines_per_row + d.header_lines AS file_line, description, "
        f"original_{basis} AS original, converted_from, rate, rate_day, rate_source, "
        f"line_{basis} AS line_amount, j.{basis} AS part, {estimated} AS estimated "
        f"FROM job_lines j JOIN delivered_files d ON d.delivery = j.delivery {where} "
        "ORDER BY period_start, scope, rule, category, file, file_line, day, attempt"
    )
    pots = engine.records(
        f"SELECT attempt, rule, category, scope, period_start, period_end, day, weighed_by, weight, whole, count(*) AS lines, "
        f"sum(line_{basis}) AS pot, sum({basis}) AS part, sum({estimated}) AS estimated FROM job_lines j {where} GROUP BY ALL "
        f"UNION ALL SELECT attempt, rule, category, scope, NULL, NULL, day, weighed_by, weight, whole, NULL, pot_{basis}, {basis}, NULL "
        f"FROM job_spend {where} ORDER BY period_start NULLS LAST, scope, rule, category, day, attempt"
    )
    rules = engine.records(
        f"SELECT rule, among, weighed_by, category, count(*) AS pots, sum(part) AS cost FROM ("
        f"SELECT rule, among, weighed_by, category, sum({basis}) AS part FROM job_lines {where} "
        "GROUP BY rule, among, weighed_by, category, scope, period_start, period_end "
        f"UNION ALL SELECT rule, among, weighed_by, category, {basis} FROM job_spend {where}) "
        "GROUP BY rule, among, weighed_by, category ORDER BY abs(sum(part)) DESC, rule, category"
    )
    opened = sum((pot["part"] for pot in pots), Decimal(0))
    return Explanation(job_id, basis, currency, rules, pots, lines, opened, booked)
