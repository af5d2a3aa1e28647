"""Numbers of payers that are not attempts, used while the payers of a month are not named yet."""

from enum import IntEnum

from trainfare.store.book_views import FIRST_SPECIAL


class PayerCode(IntEnum):
    """A payer without a name. All are above the numbers of attempts, and above those of named payers."""

    IDLE = 2147483647
    """Gets what no job held."""
    NOBODY = 2147483646
    """Gets the charges of a scope in which no job held anything."""
    UNALLOCATED = 2147483645
    OUTSIDE = 2147483644
    SPEND = 2147483643
    """Holds what is split by spend, until the spend is known."""
    FIXED = 2147483642
    """Holds what a rule gives out in fixed parts."""


def code_fragments(*codes: PayerCode) -> dict[str, str]:
    """Return the numbers of these payers as fragments, under their names in lower case."""
    return {code.name.lower(): str(code.value) for code in codes}


FIRST_SPECIAL_FRAGMENT = {"first_special": str(FIRST_SPECIAL)}
