"""Amortize the delivered ledgers over months."""

from collections.abc import Iterable
from datetime import UTC, datetime

from trainfare.engine.duckdb import DuckDB
from trainfare.normalize.amortization import schedules
from trainfare.normalize.amortization.schedules import AmortizationContext, Ledger
from trainfare.period import Month
from trainfare.settings.config import Config
from trainfare.sources import deliveries
from trainfare.sources.deliveries import DeliveredFile
from trainfare.sources.kinds import Kind
from trainfare.sources.ledgers.tables import TARGET_COLUMNS
from trainfare.tables import CHARGES

_LAST_SECOND = "coalesce(make_timestamp((epoch_second(ended) - 1) * 1000000), started)"
"""SQL for the last second that a job held: one that ends at midnight does not reach into the next day."""


def last_full_hour() -> datetime:
    """Return the last full hour: nothing is amortized or estimated beyond it."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def has_ledgers(delivered: Iterable[DeliveredFile]) -> bool:
    return any(file.is_ledger for file in delivered)


def lines_per_row(file: DeliveredFile) -> int:
    """Return how many line numbers of charges are reserved for each row of a file: one, unless it becomes several."""
    if file.is_ledger:
        return schedules.LINES_PER_ROW
    return file.native.lines_per_row if file.native else 1


def amortize(
    engine: DuckDB,
    config: Config,
    delivered: Iterable[DeliveredFile],
    months: Iterable[Month],
    as_of: datetime,
    into: str,
) -> None:
    """Make table `into`: the charges of the delivered ledgers in these months."""
    tags = {name: config.tag_keys("job" if name == "job_id" else name)[0] for name in TARGET_COLUMNS}
    tags["job_id"] = config.labels.get("job", ("job_id",))[0]
    files = list(delivered)
    bills = (
        deliveries.charge_selects(engine, config, files) if any(file.kind is Kind.COMMITMENTS for file in files) else []
    )
    schedules.amortize(engine, _ledgers(engine, files), months, AmortizationContext(as_of, tags, bills), into)


def active_months(engine: DuckDB, delivered: Iterable[DeliveredFile]) -> set[Month]:
    """Return the months in which jobs ran or people worked."""
    files = list(delivered)
    found = schedules.labor_months(engine, _ledgers(engine, files))
    for file in files:
        if file.is_job_log:
            spans = engine.rows(
                "SELECT DISTINCT CAST(date_trunc('month', started) AS DATE), "
                f"CAST(date_trunc('month', greatest(started, {_LAST_SECOND})) AS DATE) FROM ({file.select(engine)})"
            )
            found |= {month for first, last in spans for month in _through(Month.of(first), Month.of(last))}
    return found


def digests(engine: DuckDB, charges: str, month: Month) -> dict[int, str]:
    """Return, by delivery, a fingerprint of a month's amortized charges that does not depend on row order."""
    columns = ", ".join(name for name in CHARGES.names if name not in ("delivery", "source"))
    found = engine.rows(
        f"SELECT delivery, count(*), CAST(sum(CAST(hash({columns}) AS HUGEINT)) AS VARCHAR), sum(effective) "
        f"FROM {charges} WHERE {deliveries.BILLING_MONTH} = DATE '{month}-01' GROUP BY delivery ORDER BY delivery"
    )
    return {delivery: f"{rows}|{hash_sum}|{total}" for delivery, rows, hash_sum, total in found}


def _ledgers(engine: DuckDB, delivered: Iterable[DeliveredFile]) -> list[Ledger]:
    return [
        Ledger(
            file.kind,
            file.number,
            file.source,
            file.path,
            file.select(engine),
            file.header_lines,
        )
        for file in delivered
        if file.is_ledger
    ]


def _through(first: Month, last: Month) -> Iterable[Month]:
    while first <= last:
        yield first
        first = first.next()
