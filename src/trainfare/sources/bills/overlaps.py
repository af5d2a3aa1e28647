"""The same account in two exports is double counting: no month is built from both."""

from collections.abc import Sequence
from typing import Protocol

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.period import Month
from trainfare.sources.guides import guide_of


class Bill(Protocol):
    """A delivered bill."""

    @property
    def path(self) -> Location: ...
    @property
    def source(self) -> str: ...
    @property
    def format(self) -> str: ...
    def select(self, engine: DuckDB) -> str: ...


Account = tuple[str, str, str, Month]


def require_none(engine: DuckDB, bills: Sequence[Bill]) -> None:
    """Raise if an account's month is in bills of two formats."""
    if len({bill.format for bill in bills}) < 2:
        return
    found: dict[Account, dict[str, Bill]] = {}
    for bill in bills:
        for account in _accounts(engine, bill):
            found.setdefault(account, {}).setdefault(bill.format, bill)
    twice: dict[tuple[str, Month], list[str]] = {}
    for (_, _, account_id, month), exports in found.items():
        if len(exports) > 1:
            names = " and ".join(f"{one.path} ({one.format}, source {one.source})" for one in exports.values())
            twice.setdefault((names, month), []).append(account_id)
    problems = Problems()
    for (names, month), accounts in sorted(twice.items(), key=lambda one: str(one[0])):
        shown = ", ".join(sorted(accounts)[:3]) + (f" and {len(accounts) - 3} more" if len(accounts) > 3 else "")
        what = f"account{'s' * (len(accounts) > 1)} {shown} would count twice: in {names}"
        do = "Keep one of the two exports: remove the other [[source]], or change its path so that it leaves this month out."
        problems.add(str(month), what, do)
    problems.raise_if_any()


def _accounts(engine: DuckDB, bill: Bill) -> set[Account]:
    """Return the accounts and months on a bill. A bill that names no account overlaps with nothing."""
    month = "billing_month(billing_start, billing_end)"
    rows = engine.rows(
        f"SELECT DISTINCT provider, billing_account, account, {month} FROM ({bill.select(engine)}) "
        "WHERE billing_account IS NOT NULL AND account IS NOT NULL AND provider IS NOT NULL"
    )
    return {
        (guide_of(provider) or provider.lower(), payer, account, Month.of(day))
        for provider, payer, account, day in rows
    }
