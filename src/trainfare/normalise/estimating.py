"""Before the bill: what hours without one are expected to cost, marked as estimated."""

from datetime import UTC, datetime

from trainfare.engine.protocol import Engine
from trainfare.normalise import facts
from trainfare.normalise.facts import PACKAGE, Kinds
from trainfare.period import Month
from trainfare.tables import BASES, CHARGES, ESTIMATED, ESTIMATES, MONEY, Column

RATED_SECONDS = 86400
"""The last known rate is that of the last day on the bill."""


def billed_through(engine: Engine, month: Month) -> datetime:
    """Up to when the month's bill speaks of machines; the month's start if there is none yet."""
    (last,) = engine.row(
        "SELECT coalesce(max(epoch_second(last_end)) FILTER (longest <= 86400), max(epoch_second(last_end))) FROM charge_kinds "
        f"WHERE month = DATE '{month}-01' AND origin = 'bill' AND charge_category = 'Usage'"
    )
    found = month.start if last is None else datetime.fromtimestamp(last, UTC)
    return min(max(found, month.start), month.end)


def month_before(engine: Engine, month: Month) -> Month | None:
    """The last month before this one that has a bill: what its machines cost is the last known rate."""
    (day,) = engine.row(f"SELECT max(month) FROM charge_kinds WHERE origin = 'bill' AND month < DATE '{month}-01'")
    return Month.of(day) if day else None


def none(engine: Engine) -> None:
    """Make `estimates` of a month in which nothing is estimated."""
    engine.table(
        "estimates", f"SELECT {', '.join(f'CAST(NULL AS {type_}) AS {name}' for name, type_ in _EMPTY)} WHERE false"
    )


def run(engine: Engine, kinds: Kinds, month: Month, as_of: datetime) -> None:
    """Make `estimates` of the month, and add them to the charges and their kinds."""
    start, end = billed_through(engine, month), min(as_of, month.end)
    (last,) = engine.row(
        "SELECT max(epoch_second(last_end)) FROM charge_kinds WHERE origin = 'bill' AND charge_category = 'Usage' AND longest <= 86400 "
        f"AND epoch_second(last_end) <= {int(month.end.timestamp())}"
    )
    given = {
        "month": f"DATE '{month}-01'",
        "from_second": str(int(start.timestamp())),
        "to_second": str(int(end.timestamp())),
        "first_moment": f"{datetime.fromtimestamp((last or RATED_SECONDS) - RATED_SECONDS, UTC):%Y-%m-%d %H:%M:%S}",
        "last_moment": f"{datetime.fromtimestamp(last or 0, UTC):%Y-%m-%d %H:%M:%S}",
        "columns": ", ".join(f"CAST({sql} AS {column.type}) AS {column.name}" for column, sql in _columns()),
    }
    for step in ("alive", "last_rates", "estimates", "estimated_charges"):
        engine.step(PACKAGE, step, step, given)
    facts.add_charges(engine, kinds, "SELECT * FROM estimated_charges")


def _columns() -> list[tuple[Column, str]]:
    """SQL for each column of a charge, over what an estimate gives."""
    told = {
        "delivery": "0",
        "line": "line",
        "billing_start": "date_trunc('month', make_timestamp(starts * 1000000))",
        "billing_end": "date_trunc('month', make_timestamp(starts * 1000000)) + INTERVAL 1 MONTH",
        "period_start": "make_timestamp(starts * 1000000)",
        "period_end": "make_timestamp(ends * 1000000)",
        "source": f"'{ESTIMATED}'",
        "currency": "currency",
        "origin": "'estimate'",
        "charge_category": "'Usage'",
        "service_category": "category",
        "service_name": "'Estimated by ' || method",
        "billing_account": "billing_account",
        "account": "account",
        "resource_id": "resource_id",
        "description": "'estimated by ' || method || ', ' || price_source",
        "finer": "0",
    }
    told |= {basis: f"{basis}_part" for basis in BASES}
    return [(column, told.get(column.name, "NULL")) for column in CHARGES.columns]


_EMPTY = (
    *((column.name, column.type) for column in ESTIMATES.columns if column.name != "effective"),
    *(("effective", MONEY), ("whole", "BIGINT")),
)
