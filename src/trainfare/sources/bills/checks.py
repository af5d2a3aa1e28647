"""What a bill says about itself: sums that must be equal, and rows that need attention. They become findings."""

from dataclasses import dataclass

from trainfare.engine.sql import quoted
from trainfare.tables import MONEY, TEXT, TIME, Column, Table

CHECKS = Table(
    "bill_checks",
    "A sum that a provider's own rules give twice, or rows of a bill that need attention; one row per file and subject.",
    (
        Column("delivery", "INTEGER", "number of the delivered file"),
        Column("source", TEXT, "name of the source of the file"),
        Column("billing_start", TIME, "start of the billing period"),
        Column("billing_end", TIME, "end of the billing period"),
        Column("currency", TEXT, "currency of the amounts"),
        Column("code", TEXT, "the finding it becomes, in lower case"),
        Column("subject", TEXT, "what the sums are about"),
        Column("stated", MONEY, "what the amounts must add up to; null if there is no such rule"),
        Column("found", MONEY, "what they add up to"),
        Column("lines", "BIGINT", "number of rows"),
    ),
)


@dataclass(frozen=True)
class BillCheck:
    """Two sums over the rows of a bill that must be equal, as SQL over its fields."""

    code: str
    subject: str
    """SQL for what the sums are about; one check per distinct value."""
    found: str
    stated: str = "CAST(NULL AS DECIMAL(38,12))"
    where: str = "true"

    def select(self, rows: str, period: tuple[str, str, str], delivery: int, source: str) -> str:
        """Return a SELECT of `CHECKS`; `period` is SQL for start and end of the billing period and the currency."""
        start, end, currency = period
        return (
            f"SELECT CAST({delivery} AS INTEGER) AS delivery, {quoted(source)} AS source, {start} AS billing_start, "
            f"{end} AS billing_end, {currency} AS currency, {quoted(self.code)} AS code, "
            f"CAST({self.subject} AS VARCHAR) AS subject, CAST(sum({self.stated}) AS {MONEY}) AS stated, "
            f"CAST(sum({self.found}) AS {MONEY}) AS found, count(*) AS lines FROM {rows} WHERE {self.where} "
            "GROUP BY ALL"
        )
