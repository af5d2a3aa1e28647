"""Checks that rows of every ledger have in common."""

from collections.abc import Callable

from trainfare.engine.duckdb import quoted
from trainfare.errors import Faults
from trainfare.ledger_tables import NAMED
from trainfare.places import Place
from trainfare.sources.raw import Raw
from trainfare.tables import MONEY

Instead = Callable[[Raw, str], str]
"""SQL for a column that is not simply taken from the file."""
MOST = 10**12
"""No ledger has a line of a million million; products with hours and quantities stay within 38 digits."""


def check_currency(
    raw: Raw, faults: Faults, name: str = "currency", needed: str = "Every amount needs one, such as USD."
) -> None:
    raw.check_present(faults, name, needed)
    bad = f"NOT regexp_full_match({raw.text(name)}, '[A-Z]{{3}}')"
    do = "Use an ISO 4217 code such as USD."
    raw.check(faults, bad, f"{raw.shown(name)} || ' is not a currency code'", do)


def check_money(raw: Raw, faults: Faults, *names: str, below_zero: bool = False) -> None:
    """These columns must be amounts where they are given."""
    for name in names:
        do = "Write it as digits with a point, such as 12.50."
        raw.check_number(faults, name, MONEY, "an amount", MOST, do)
        if not below_zero:
            raw.check_not_below(faults, name, MONEY, 0, "An amount here is not below zero.")


def check_days(raw: Raw, faults: Faults, *names: str) -> None:
    for name in names:
        raw.check_moment(faults, name, "Write the day as 2026-10-01.")


def check_term(raw: Raw, faults: Faults) -> None:
    """A term has a first day and a day after its last."""
    for name in ("started", "ended"):
        raw.check_present(faults, name, "A term has a first day, `started`, and the day after its last, `ended`.")
    check_days(raw, faults, "started", "ended")
    start, end = (f"CAST({raw.moment(name)} AS DATE)" for name in ("started", "ended"))
    shown = f"'it ends (' || {end} || ') before it has a day (it starts ' || {start} || ')'"
    raw.check(faults, f"{end} <= {start}", shown, "`ended` is the day after the last one.")


def check_names(raw: Raw, faults: Faults) -> None:
    """Who a row is for is a name where it is given."""
    for name in ("machine_id", *NAMED):
        if raw.has(name):
            blank = f"{raw.text(name)} IS NOT NULL AND trim({raw.text(name)}) = ''"
            raw.check(faults, blank, f"{raw.shown(name)} || ' is not a name'", "Write a name, or leave it empty.")


def money_of(name: str, otherwise: str) -> Instead:
    """An amount that has another where none is given."""
    return lambda raw, zone: f"coalesce({raw.number(name, MONEY)}, {otherwise})"


def word_of_file(name: str, path: Place) -> Instead:
    """Text that is the file's name where none is given."""
    return lambda raw, zone: f"coalesce(nullif(trim({raw.text(name)}), ''), {quoted(path.name)})"


def word_of(name: str, otherwise: str) -> Instead:
    """A word in small letters, or another where none is given."""
    return lambda raw, zone: f"coalesce(lower({raw.text(name)}), '{otherwise}')"
