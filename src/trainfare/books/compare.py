"""The differences between two versions of a month, by payer and reason."""

from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.query.stored import select_of
from trainfare.store.records import BookFiles
from trainfare.tables import ESTIMATED


def difference(engine: DuckDB, old: BookFiles, new: BookFiles, basis: str) -> list[dict[str, Any]]:
    """Return the payers, rules and reasons whose cost differs, largest change first.

    Adds up to the change of the total.
    """
    sides = [f"SELECT *, {sign} AS side FROM ({select_of(book, 'shares')})" for book, sign in ((old, 0), (new, 1))]
    return engine.records(
        "SELECT payer, rule, reason, currency, "
        f"{_sides(basis)} "
        f"FROM ({' UNION ALL '.join(sides)}) GROUP BY payer, rule, reason, currency "
        "HAVING after <> before ORDER BY abs(change) DESC, payer, rule, reason"
    )


def causes(engine: DuckDB, old: BookFiles, new: BookFiles, basis: str) -> list[dict[str, Any]]:
    """Return the charges that differ, per source, category and rule. With an unchanged bill, only the rules differ."""
    sides = [f"SELECT *, {sign} AS side FROM ({select_of(book, 'bill_totals')})" for book, sign in ((old, 0), (new, 1))]
    return engine.records(
        "SELECT source, category, rule, currency, "
        f"{_sides(basis)} "
        f"FROM ({' UNION ALL BY NAME '.join(sides)}) GROUP BY source, category, rule, currency "
        "HAVING after <> before ORDER BY abs(change) DESC, source, category, rule"
    )


def is_same_bill(found: list[dict[str, Any]]) -> bool:
    """Return whether only rules differ: per source and category, the changes of all rules add up to zero."""
    changes: dict[tuple[str, str, str], Decimal] = {}
    for one in found:
        key = one["source"], one["category"], one["currency"]
        changes[key] = changes.get(key, Decimal(0)) + one["change"]
    return not any(changes.values())


def _sides(basis: str) -> str:
    """Return SQL for the amounts before and after, the estimated part of each, and the change."""
    wheres = {"before": "side = 0", "after": "side = 1"}
    wheres |= {f"{name}_estimated": f"{where} AND source = {quoted(ESTIMATED)}" for name, where in wheres.items()}
    sums = ", ".join(f"coalesce(sum({basis}) FILTER ({where}), 0) AS {name}" for name, where in wheres.items())
    return f"{sums}, after - before AS change"
