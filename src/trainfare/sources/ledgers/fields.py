"""Declarations of columns that several ledgers have: amounts, currencies, terms, and who a row is for."""

from dataclasses import dataclass, field

from trainfare.errors import Problems
from trainfare.sources.fields import Number, Time
from trainfare.sources.ledgers.tables import TARGET_COLUMNS
from trainfare.sources.raw import RawTable
from trainfare.tables import MONEY

MOST_MONEY = 10**12
"""Amounts in a ledger are smaller than this, so that products with hours and quantities fit 38 digits."""


def money(name: str, required: str = "", default: str = "", may_be_negative: bool = False) -> Number:
    """Declare an amount of money."""
    return Number(
        name,
        MONEY,
        MOST_MONEY,
        "Write digits with a decimal point, such as 12.50.",
        noun="an amount",
        least=None if may_be_negative else 0,
        do_least="The amount must not be negative.",
        required=required,
        default=default,
    )


def day(name: str, required: str = "") -> Time:
    """Declare a day."""
    return Time(name, "Write the day as 2026-10-01.", required)


@dataclass(frozen=True)
class Currency:
    """A required currency code."""

    name: str = "currency"
    required: str = "Every amount needs one, such as USD."
    any_case: bool = False
    """Whether lower case is accepted, and read as upper case."""
    is_required: bool = field(default=True, init=False)

    def check_presence(self, raw: RawTable, problems: Problems) -> None:
        raw.check_present(problems, self.name, self.required)

    def check_values(self, raw: RawTable, zone: str, problems: Problems) -> None:
        bad = f"NOT regexp_full_match({self.select(raw, zone)}, '[A-Z]{{3}}')"
        message = f"{raw.described(self.name)} || ' is not a currency code'"
        raw.check(problems, bad, message, "Use an ISO 4217 code such as USD.")

    def select(self, raw: RawTable, zone: str) -> str:
        return f"upper({raw.text(self.name)})" if self.any_case else raw.text(self.name)


@dataclass(frozen=True)
class Target:
    """An optional name of who a row is for."""

    name: str
    is_required: bool = field(default=False, init=False)

    def check_presence(self, raw: RawTable, problems: Problems) -> None:
        """Nothing is required."""

    def check_values(self, raw: RawTable, zone: str, problems: Problems) -> None:
        if raw.has(self.name):
            text = raw.text(self.name)
            blank = f"{text} IS NOT NULL AND trim({text}) = ''"
            message = f"{raw.described(self.name)} || ' is not a name'"
            raw.check(problems, blank, message, "Write a name, or leave it empty.")

    def select(self, raw: RawTable, zone: str) -> str:
        return raw.text(self.name)


TERM = tuple(
    day(name, "A term has a first day, `started`, and the day after its last, `ended`.")
    for name in ("started", "ended")
)
TARGETS = tuple(Target(name) for name in TARGET_COLUMNS)


def check_term(raw: RawTable, zone: str, problems: Problems) -> None:
    """A term must have at least one day."""
    start, end = (f"CAST({raw.timestamp(name)} AS DATE)" for name in ("started", "ended"))
    message = f"'ended (' || {end} || ') is not after started (' || {start} || ')'"
    raw.check(problems, f"{end} <= {start}", message, "`ended` is the day after the last one.")
