"""Delivered ledgers, and how they are laid over months."""

from collections.abc import Iterable
from datetime import UTC, datetime

from trainfare.config import Config
from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.ledger_tables import NAMED
from trainfare.ledgers import laying
from trainfare.ledgers.laying import Laying, Ledger
from trainfare.period import Month
from trainfare.sources import deliver
from trainfare.sources.deliver import Delivered
from trainfare.tables import CHARGES


def this_hour() -> datetime:
    """The last full hour: nothing is laid or estimated beyond it."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def are_there(delivered: Iterable[Delivered]) -> bool:
    return any(file.kind in laying.ROWS for file in delivered)


def lines_per_row(file: Delivered) -> int:
    """How many lines of charges are kept free for each row of a file: one, but for ledgers."""
    return laying.LINES_PER_ROW if file.kind in laying.ROWS else 1


def lay(
    engine: DuckDB, config: Config, delivered: Iterable[Delivered], months: Iterable[Month], as_of: datetime, into: str
) -> None:
    """Make table `into` of what the delivered ledgers cost in these months."""
    tags = {name: config.tag_keys("job" if name == "job_id" else name)[0] for name in NAMED}
    tags["job_id"] = config.labels.get("job", ("job_id",))[0]
    files = list(delivered)
    bills = deliver.charge_selects(engine, config, files) if any(one.kind == "commitments" for one in files) else []
    laying.lay(engine, _ledgers(files), months, Laying(as_of, tags, bills), into)


def months_of(engine: DuckDB, delivered: Iterable[Delivered]) -> set[Month]:
    """The months in which jobs ran or people worked."""
    files = list(delivered)
    found = laying.worked_months(engine, _ledgers(files))
    for file in files:
        if file.kind == "jobs":
            spans = engine.rows(
                "SELECT DISTINCT CAST(date_trunc('month', started) AS DATE), CAST(date_trunc('month', coalesce(ended, started)) AS DATE) "
                f"FROM {parquet(file.archive)}"
            )
            found |= {month for first, last in spans for month in _through(Month.of(first), Month.of(last))}
    return found


def digests(engine: DuckDB, charges: str, month: Month) -> dict[int, str]:
    """By delivery, what a table of laid charges says of a month, as a fingerprint. Row order means nothing to it."""
    columns = ", ".join(name for name in CHARGES.names if name not in ("delivery", "source"))
    found = engine.rows(
        f"SELECT delivery, count(*), CAST(sum(CAST(hash({columns}) AS HUGEINT)) AS VARCHAR), sum(effective) FROM {charges} "
        f"WHERE {deliver.BILLING_MONTH} = DATE '{month}-01' GROUP BY delivery ORDER BY delivery"
    )
    return {delivery: f"{rows}|{told}|{total}" for delivery, rows, told, total in found}


def _ledgers(delivered: Iterable[Delivered]) -> list[Ledger]:
    return [
        Ledger(
            file.kind,
            file.number,
            file.source,
            file.path,
            f"SELECT * FROM {parquet(file.archive)}",
            deliver.header_lines(file),
        )
        for file in delivered
        if file.kind in laying.ROWS
    ]


def _through(first: Month, last: Month) -> Iterable[Month]:
    while first <= last:
        yield first
        first = first.next()
