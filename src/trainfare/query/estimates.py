"""The estimated part of a report, and how accurate earlier estimates were once the bill arrived."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.query import groups, keys
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import Selection

RECENT_DAYS = 30
ERROR_KEYS = ("category", "kind", "method", "price_source")
"""The keys that errors of estimates are grouped by."""


def estimated_sum(basis: str, rows: str = "s") -> str:
    """Return SQL for the estimated part of a sum of shares."""
    return f"coalesce(sum({rows}.{basis}) FILTER ({rows}.estimated), 0)"


def has_estimates(opened: OpenBooks) -> bool:
    """Return whether anything in the books is estimated."""
    return bool(opened.engine.rows("SELECT 1 FROM bill_totals WHERE origin = 'estimate' LIMIT 1"))


@dataclass(frozen=True)
class Accuracy:
    """Estimated and billed cost, summed over the last days that were billed."""

    estimated: Decimal
    billed: Decimal
    days: int = RECENT_DAYS

    @property
    def relative_error(self) -> Decimal | None:
        """Return the error as a fraction of the billed cost; None if nothing was billed."""
        return abs(self.estimated - self.billed) / abs(self.billed) if self.billed else None


def by_group(opened: OpenBooks, basis: str, selection: Selection, by: list[str]) -> dict[tuple[Any, ...], Decimal]:
    """Return the estimated part of the cost of each group of jobs; groups without one are left out."""
    names = "".join(f"{keys.share_sql(key)} AS k{index}, " for index, key in enumerate(by))
    found = opened.engine.rows(
        f"SELECT {names}sum(s.{basis}) FROM {groups.selected_shares(opened, selection, by)} "
        "WHERE s.estimated AND s.payer_kind IN ('attempt', 'label') GROUP BY ALL"
    )
    return {tuple(group): cost for *group, cost in found if cost is not None}


def accuracy(opened: OpenBooks, currency: str) -> Accuracy | None:
    """Return how accurate the estimates of the last 30 billed days were; None if no estimate was billed yet."""
    if not all("estimate_errors" in book.files for book in opened.books):
        return None
    estimated, billed = opened.engine.row(
        f"SELECT sum(estimated), sum(billed) FROM estimate_errors WHERE currency = {quoted(currency)} "
        f"AND day > (SELECT max(day) FROM estimate_errors) - {RECENT_DAYS}"
    )
    return None if estimated is None else Accuracy(estimated, billed)


def estimate_errors(opened: OpenBooks) -> list[dict[str, Any]]:
    """Compare estimated with billed cost, by category, kind of machine and source of the price."""
    listed = ", ".join(ERROR_KEYS)
    return opened.engine.records(
        f"SELECT {listed}, currency, min(day) AS first_day, max(day) AS last_day, "
        "CAST(sum(machine_seconds) / 3600 AS DECIMAL(18,2)) AS machine_hours, "
        "sum(estimated) AS estimated, sum(billed) AS billed, sum(estimated) - sum(billed) AS error "
        f"FROM estimate_errors GROUP BY {listed}, currency ORDER BY abs(error) DESC, {listed}"
    )
