"""What of a report no bill says yet, and how good earlier estimates were when the bill came."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.report import groups, keys
from trainfare.report.opened import Opened
from trainfare.report.slice import Slice

RECENT_DAYS = 30
ERRORS = ("category", "kind", "method", "price_source")
"""What errors of estimates are told by."""


def part(basis: str, rows: str = "s") -> str:
    """SQL for what of a sum of shares no bill says yet."""
    return f"coalesce(sum({rows}.{basis}) FILTER ({rows}.origin = 'estimate'), 0)"


def is_any(opened: Opened) -> bool:
    """Whether anything in the books is estimated."""
    money = "digest_costs" if opened.by_digest else "bill_totals"
    return bool(opened.engine.rows(f"SELECT 1 FROM {money} WHERE origin = 'estimate' LIMIT 1"))


@dataclass(frozen=True)
class Accuracy:
    """What was estimated and what the bill then said, added up over the last days that were billed."""

    estimated: Decimal
    billed: Decimal
    days: int = RECENT_DAYS

    @property
    def off(self) -> Decimal | None:
        """How far off, as a part of the bill; null where nothing was billed."""
        return abs(self.estimated - self.billed) / abs(self.billed) if self.billed else None


def by_group(opened: Opened, basis: str, slice_: Slice, by: list[str]) -> dict[tuple[Any, ...], Decimal]:
    """The estimated part of what each group of jobs pays; groups without one are left out."""
    names = "".join(f"{keys.of_share(key)} AS k{index}, " for index, key in enumerate(by))
    found = opened.engine.rows(
        f"SELECT {names}sum(s.{basis}) FROM {groups.paid(opened, slice_, by)} "
        "WHERE s.origin = 'estimate' AND s.payer_kind IN ('attempt', 'label') GROUP BY ALL"
    )
    return {tuple(group): cost for *group, cost in found if cost is not None}


def accuracy(opened: Opened, currency: str) -> Accuracy | None:
    """How good the estimates of the last 30 billed days were; None where none was compared yet."""
    if not all("estimate_errors" in book.files for book in opened.books):
        return None
    estimated, billed = opened.engine.row(
        f"SELECT sum(estimated), sum(billed) FROM estimate_errors WHERE currency = {quoted(currency)} "
        f"AND day > (SELECT max(day) FROM estimate_errors) - {RECENT_DAYS}"
    )
    return None if estimated is None else Accuracy(estimated, billed)


def errors(opened: Opened) -> list[dict[str, Any]]:
    """What was estimated and what the bill then said, by category, kind of machine and where the price came from."""
    listed = ", ".join(ERRORS)
    return opened.engine.records(
        f"SELECT {listed}, currency, min(day) AS first_day, max(day) AS last_day, "
        "CAST(sum(machine_seconds) / 3600 AS DECIMAL(18,2)) AS machine_hours, "
        "sum(estimated) AS estimated, sum(billed) AS billed, sum(estimated) - sum(billed) AS error "
        f"FROM estimate_errors GROUP BY {listed}, currency ORDER BY abs(error) DESC, {listed}"
    )
