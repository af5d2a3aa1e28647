"""The kinds of files that can be delivered, and the table of the contract that each fills."""

from enum import StrEnum

from trainfare import tables
from trainfare.sources.ledgers import tables as ledger_tables
from trainfare.tables import Table


class Kind(StrEnum):
    """What a delivered file holds, regardless of its format."""

    BILL = "bill"
    JOBS = "jobs"
    MACHINES = "machines"
    USAGE = "usage"
    QUALITY = "quality"
    PRICES = "prices"
    RATES = "rates"
    HARDWARE = "hardware"
    TARIFFS = "tariffs"
    POWER = "power"
    LICENSES = "licenses"
    LABOR = "labor"
    INVOICES = "invoices"
    COMMITMENTS = "commitments"

    @property
    def table(self) -> Table:
        """The table of the contract whose rows such a file holds."""
        return _TABLES[self]

    @property
    def label(self) -> str:
        """The name of this kind in messages."""
        return "job log" if self is Kind.JOBS else self.value

    @property
    def is_bill(self) -> bool:
        return self is Kind.BILL

    @property
    def is_job_log(self) -> bool:
        return self is Kind.JOBS

    @property
    def is_rate_table(self) -> bool:
        return self is Kind.RATES

    @property
    def is_ledger(self) -> bool:
        """Whether costs that are on no bill are amortized from such files."""
        return self in _LEDGERS


_TABLES = {
    Kind.BILL: tables.CHARGES,
    Kind.JOBS: tables.PLACEMENTS,
    Kind.MACHINES: tables.MACHINES,
    Kind.USAGE: tables.USAGE,
    Kind.QUALITY: tables.QUALITY,
    Kind.PRICES: tables.PRICES,
    Kind.RATES: ledger_tables.RATES,
    Kind.HARDWARE: ledger_tables.HARDWARE,
    Kind.TARIFFS: ledger_tables.TARIFFS,
    Kind.POWER: ledger_tables.POWER,
    Kind.LICENSES: ledger_tables.LICENSES,
    Kind.LABOR: ledger_tables.LABOR,
    Kind.INVOICES: ledger_tables.INVOICES,
    Kind.COMMITMENTS: ledger_tables.COMMITMENTS,
}
_LEDGERS = frozenset(
    {Kind.HARDWARE, Kind.TARIFFS, Kind.POWER, Kind.LICENSES, Kind.LABOR, Kind.INVOICES, Kind.COMMITMENTS}
)
