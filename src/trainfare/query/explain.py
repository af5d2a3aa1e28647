"""A job's cost traced to rules, pots, weights and bill lines, which add up to the published figure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, localcontext
from itertools import groupby
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.money import PLACES
from trainfare.query import groups, job_names, keys
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.query.stored import stored_table
from trainfare.store.records import BookFiles
from trainfare.tables import ESTIMATED

Rows = list[dict[str, Any]]

WITHHELD_OF_POTS = ("pot", "total_weight", "lines")
WITHHELD_OF_LINES = ("line_amount", "original", "total_weight", "delivery", "line", "file", "file_line")
"""What a restricted viewer does not see: a whole pot or bill line, all weights of it, and positions in the bill. Each
of them says something about others.
"""
OWN_SCOPES = ("machine", "job")
"""Pots whose bill lines are about what the job itself held. Those of wider pots may describe anybody's resources."""


@dataclass(frozen=True)
class Explanation:
    """`explained` is the sum of the parts shown, `stored` the figure in the book; the two are equal.

    `withheld` names the fields that are null because they say something about others.
    """

    job_id: str
    basis: str
    currency: str
    rules: Rows
    pots: Rows
    lines: Rows
    explained: Decimal
    stored: Decimal
    withheld: tuple[str, ...] = ()


class JobNotFoundError(TrainfareError):
    """A book does not contain the job; `suggestions` are similar names that it does contain."""

    def __init__(self, job_id: str, month: str, suggestions: list[str], list_command: str) -> None:
        do = f"Did you mean {', '.join(suggestions)}?" if suggestions else f"List the jobs with: {list_command}"
        super().__init__("explain", f"there is no job '{job_id}' in the book of {month}", do)
        self.suggestions = suggestions


def require_job(engine: DuckDB, name: str, month: str) -> str:
    """Return the id of the job that is called `name`; raise an error with similar names if the book has none."""
    if found := job_names.find_in(engine, "attempts", name):
        return found
    alike = (
        f"greatest(jaro_winkler_similarity(job_id, {quoted(name)}), jaro_winkler_similarity(native, {quoted(name)}))"
    )
    similar = engine.rows(
        "SELECT job_id FROM ("
        f"SELECT job_id, {alike} AS similarity FROM (SELECT DISTINCT job_id, split_part(job_id, '/', -1) AS native "
        "FROM attempts)) WHERE similarity > 0.8 ORDER BY similarity DESC, job_id LIMIT 3"
    )
    raise JobNotFoundError(name, month, [name for (name,) in similar], f"trainfare report --by job --month {month}")


def booked_by_day(engine: DuckDB, book: BookFiles, job_id: str, basis: str) -> dict[str, dict[date, Decimal]]:
    """Return what a book has for a job, by currency and day; empty if it does not have the job."""
    attempts = f"SELECT attempt_key FROM {stored_table(book, 'book_attempts')} WHERE job_id = {quoted(job_id)}"
    keys = [str(key) for (key,) in engine.rows(attempts)]
    if not keys:
        return {}
    found: dict[str, dict[date, Decimal]] = {}
    for currency, day, cost in engine.rows(
        f"SELECT k.currency, DATE '1970-01-01' + s.day, sum(s.{basis}) FROM {stored_table(book, 'shares')} s "
        f"JOIN {stored_table(book, 'share_kinds')} k ON k.share_kind = s.share_kind "
        f"WHERE s.payer_key IN ({', '.join(keys)}) GROUP BY ALL"
    ):
        found.setdefault(currency, {})[day] = cost
    return found or {"": {}}


def stored(engine: DuckDB, job_id: str, basis: str, currency: str) -> Decimal:
    """Return the cost of the job according to the book."""
    amount: Decimal = engine.row(
        f"SELECT coalesce(sum({basis}), 0) FROM shares "
        f"WHERE job_id = {quoted(job_id)} AND currency = {quoted(currency)}"
    )[0]
    return amount


def selected_shares_of_job(opened: OpenBooks, question: Question) -> tuple[Decimal, list[tuple[Any, ...]]]:
    """Return the selected cost of a job, and what its shares state: attempt, resource, day, source, origin, account,
    rule and category.
    """
    shares = groups.selected_shares(opened, question.selection, ["attempt", "machine", *keys.CHARGE_KEYS])
    (cost,) = opened.engine.row(f"SELECT sum(s.{question.basis}) FROM {shares} WHERE s.payer_kind = 'attempt'")
    found = opened.engine.rows(
        "SELECT DISTINCT t.attempt, x.resource_id, s.day, s.source, s.origin, s.account, s.rule, s.category "
        f"FROM {shares} WHERE s.payer_kind = 'attempt'"
    )
    return cost or Decimal(0), [tuple(row) for row in found]


def explanation(engine: DuckDB, job_id: str, basis: str, currency: str, booked: Decimal) -> Explanation:
    """Add up the tables that `allocate.lineage` made: `job_lines`, `job_spend` and the names of delivered files."""
    where = f"WHERE currency = {quoted(currency)}"
    estimated = f"CASE WHEN source = {quoted(ESTIMATED)} THEN j.{basis} ELSE 0 END"
    lines = engine.records(
        f"SELECT attempt, source, rule, among, category, scope, period_start, period_end, day, weighed_by, weight, "
        f"total_weight, j.delivery, j.line, d.path AS file, "
        f"abs(line) // d.lines_per_row + d.header_lines AS file_line, description, "
        f"original_{basis} AS original, converted_from, rate, rate_day, rate_source, "
        f"line_{basis} AS line_amount, j.{basis} AS part, {estimated} AS estimated "
        f"FROM job_lines j JOIN delivered_files d ON d.delivery = j.delivery {where} "
        "ORDER BY period_start, scope, rule, category, file, file_line, day, attempt"
    )
    pots = engine.records(
        "SELECT attempt, rule, category, scope, period_start, period_end, day, weighed_by, weight, total_weight, "
        f"count(*) AS lines, sum(line_{basis}) AS pot, sum({basis}) AS part, sum({estimated}) AS estimated "
        f"FROM job_lines j {where} GROUP BY ALL "
        "UNION ALL SELECT attempt, rule, category, scope, NULL, NULL, day, weighed_by, weight, total_weight, NULL, "
        f"pot_{basis}, {basis}, NULL FROM job_spend {where} "
        "ORDER BY period_start NULLS LAST, scope, rule, category, day, attempt"
    )
    rules = engine.records(
        f"SELECT rule, among, weighed_by, category, count(*) AS pots, sum(part) AS cost FROM ("
        f"SELECT rule, among, weighed_by, category, sum({basis}) AS part FROM job_lines {where} "
        "GROUP BY rule, among, weighed_by, category, scope, period_start, period_end "
        f"UNION ALL SELECT rule, among, weighed_by, category, {basis} FROM job_spend {where}) "
        "GROUP BY rule, among, weighed_by, category ORDER BY abs(sum(part)) DESC, rule, category"
    )
    for row in (*pots, *lines):
        row["unit_price"] = unit_price(row["part"], row["weight"])
    explained = sum((pot["part"] for pot in pots), Decimal(0))
    return Explanation(job_id, basis, currency, rules, pots, lines, explained, booked)


def unit_price(part: Decimal, weight: int | None) -> Decimal | None:
    """Return what one unit of weight costs: with so many digits that `weight` times it, rounded to a unit of money, is
    the part exactly. It depends on the payer's own figures only.
    """
    if not weight:
        return None
    with localcontext() as exact:
        exact.prec = 100
        return (part / weight).quantize(Decimal(1).scaleb(-PLACES - len(str(weight))))


def restricted(found: Explanation) -> Explanation:
    """Return what a restricted viewer may see: own weights, prices per unit of weight and parts, which still add up.

    Nothing in it depends on others' weights, on how much a pot holds, or on what else is on the bill.
    """
    pots = [pot | dict.fromkeys(WITHHELD_OF_POTS) for pot in found.pots]
    lines = [_own_line(line) for line in found.lines]
    withheld = tuple(dict.fromkeys((*WITHHELD_OF_POTS, *WITHHELD_OF_LINES)))
    return replace(found, pots=pots, lines=_merged(lines), withheld=withheld)


def _own_line(line: dict[str, Any]) -> dict[str, Any]:
    described = line["description"] if line["among"] in OWN_SCOPES else None
    return line | dict.fromkeys(WITHHELD_OF_LINES) | {"description": described}


def _merged(lines: Iterable[dict[str, Any]]) -> Rows:
    """Add up lines that look the same, so that their number does not tell how many lines the bill has."""
    sums = ("part", "estimated")

    def looks(line: dict[str, Any]) -> tuple[str, ...]:
        return tuple(str(value) for name, value in line.items() if name not in (*sums, "unit_price"))

    merged = []
    for _, group in groupby(sorted(lines, key=looks), looks):
        same = list(group)
        one = same[0] | {name: sum((line[name] for line in same), Decimal(0)) for name in sums}
        merged.append(one | {"unit_price": unit_price(one["part"], one["weight"])})
    order = ("period_start", "scope", "rule", "category", "day", "attempt")
    return sorted(merged, key=lambda line: tuple(line[name] for name in order))
