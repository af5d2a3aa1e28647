"""What changed between two versions of a month, by payer and reason."""

from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.report.opened import select_of
from trainfare.store.records import BookFiles
from trainfare.tables import ESTIMATED


def difference(engine: DuckDB, old: BookFiles, new: BookFiles, basis: str) -> list[dict[str, Any]]:
    """The payers, rules and reasons whose money differs, largest change first. Adds up to the change of the total."""
    sides = [f"SELECT *, {sign} AS side FROM ({select_of(book, 'shares')})" for book, sign in ((old, 0), (new, 1))]
    return engine.records(
        "SELECT payer, rule, reason, currency, "
        f"{_sides(basis)} "
        f"FROM ({' UNION ALL '.join(sides)}) GROUP BY payer, rule, reason, currency "
        "HAVING after <> before ORDER BY abs(change) DESC, payer, rule, reason"
    )


def causes(engine: DuckDB, old: BookFiles, new: BookFiles, basis: str) -> list[dict[str, Any]]:
    """What of the charges is different: per source, category and rule, before and after. The bill may be the same and the rules others."""
    sides = [f"SELECT *, {sign} AS side FROM ({select_of(book, 'bill_totals')})" for book, sign in ((old, 0), (new, 1))]
    return engine.records(
        "SELECT source, category, rule, currency, "
        f"{_sides(basis)} "
        f"FROM ({' UNION ALL BY NAME '.join(sides)}) GROUP BY source, category, rule, currency "
        "HAVING after <> before ORDER BY abs(change) DESC, source, category, rule"
    )


def is_same_bill(found: list[dict[str, Any]]) -> bool:
    """Whether these differences are the rules' alone: per source and category, what one takes more another takes less."""
    changes: dict[tuple[str, str, str], Decimal] = {}
    for one in found:
        key = one["source"], one["category"], one["currency"]
        changes[key] = changes.get(key, Decimal(0)) + one["change"]
    return not any(changes.values())


def _sides(basis: str) -> str:
    """SQL for what was before and is after, what of each is estimated, and the change."""
    wheres = {"before": "side = 0", "after": "side = 1"}
    wheres |= {f"{name}_estimated": f"{where} AND source = {quoted(ESTIMATED)}" for name, where in wheres.items()}
    sums = ", ".join(f"coalesce(sum({basis}) FILTER ({where}), 0) AS {name}" for name, where in wheres.items())
    return f"{sums}, after - before AS change"
