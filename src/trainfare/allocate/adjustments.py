"""Add the adjustments of closed months to the account of the open month in which they are booked.

They are allocated already: as shares of the closed month, under its own rules.
"""

from trainfare.allocate.payer_codes import FIRST_SPECIAL_FRAGMENT
from trainfare.allocate.weights import PACKAGE
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import step_text
from trainfare.tables import BASES, CLOSED_MONTHS, CONVERSIONS, TEXT, Column, Table

TOTALS = Table(
    "adjustment_totals",
    "What bills and ledgers of closed months add up to now, minus what is booked.",
    (
        *(Column(name, TEXT, "of the charges") for name in ("source", "origin", "converted_from", "billing_account")),
        *(Column(name, TEXT, "of the charges") for name in ("account", "currency", "category", "charge_category")),
        Column("rule", TEXT, "the rule that matched the charges"),
        Column("lines", "BIGINT", "number of lines that there are now"),
        *(Column(basis, "DECIMAL(38,12)", f"{basis} cost") for basis in BASES),
    ),
)
_EMPTY = {"adjustment_totals": TOTALS, "adjustment_conversions": CONVERSIONS, "closed_months": CLOSED_MONTHS}

_ADDED = {
    "attempts": "added_attempts",
    "machines": "added_machines",
    "payers": "added_payers",
    "share_kinds": "added_share_kinds",
}
"""The tables that get further rows, and the step that makes these."""


def none(engine: Engine) -> None:
    """Make the tables of adjustments without rows."""
    for name, table in _EMPTY.items():
        engine.values(name, ", ".join(f"{column.name} {column.type}" for column in table.columns), [])


def add(engine: Engine) -> None:
    """Add `restated_shares`, with their payers, attempts, machines and kinds, to the account of the month."""
    for table, step in _ADDED.items():
        engine.step(PACKAGE, step, step, FIRST_SPECIAL_FRAGMENT if table == "payers" else {})
        engine.add(table, f"SELECT * FROM {step}")
        engine.drop(step)
    engine.step(PACKAGE, "adjustments", "adjustments")
    own = step_text(PACKAGE, "shares")
    engine.view("stored_shares", f"SELECT * FROM ({own}) UNION ALL SELECT * FROM adjustments")
    for name in ("totals", "conversions"):
        engine.table(f"adjustment_{name}", f"SELECT * FROM restated_{name}")
    engine.table("closed_months", "SELECT * FROM restated_months")
