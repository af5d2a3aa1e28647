"""What changed between two versions of a month, by payer and reason."""

from typing import Any

from trainfare.engine.duckdb import DuckDB
from trainfare.report.opened import select_of
from trainfare.store.records import BookFiles


def difference(engine: DuckDB, old: BookFiles, new: BookFiles, basis: str) -> list[dict[str, Any]]:
    """The payers, rules and reasons whose money differs, largest change first. Adds up to the change of the total."""
    sides = [f"SELECT *, {sign} AS side FROM ({select_of(book, 'shares')})" for book, sign in ((old, 0), (new, 1))]
    return engine.records(
        "SELECT payer, rule, reason, currency, "
        f"coalesce(sum({basis}) FILTER (side = 0), 0) AS before, coalesce(sum({basis}) FILTER (side = 1), 0) AS after, "
        "after - before AS change "
        f"FROM ({' UNION ALL '.join(sides)}) GROUP BY payer, rule, reason, currency "
        "HAVING after <> before ORDER BY abs(change) DESC, payer, rule, reason"
    )


def causes(engine: DuckDB, old: BookFiles, new: BookFiles, basis: str) -> list[dict[str, Any]]:
    """What the bill itself says differently: per source and rule, the charges before and after."""
    sides = [f"SELECT *, {sign} AS side FROM ({select_of(book, 'bill_totals')})" for book, sign in ((old, 0), (new, 1))]
    return engine.records(
        "SELECT source, category, rule, currency, "
        f"coalesce(sum({basis}) FILTER (side = 0), 0) AS before, coalesce(sum({basis}) FILTER (side = 1), 0) AS after, "
        "after - before AS change "
        f"FROM ({' UNION ALL BY NAME '.join(sides)}) GROUP BY source, category, rule, currency "
        "HAVING after <> before ORDER BY abs(change) DESC, source, category, rule"
    )
