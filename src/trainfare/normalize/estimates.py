"""Estimate the cost of hours that are not billed yet; the charges are marked as estimated."""

from datetime import datetime

from trainfare.engine.protocol import Engine
from trainfare.normalize import facts
from trainfare.normalize.facts import PACKAGE, ChargeKinds
from trainfare.period import Month
from trainfare.tables import BASES, CHARGES, ESTIMATED, ESTIMATES, MONEY, Column

COVERAGE_STEPS: dict[str, tuple[str, ...]] = {
    "billed_services": ("month", "month_start", "month_end"),
    "billed_machines": ("month_start",),
}
STEPS: dict[str, tuple[str, ...]] = {
    **COVERAGE_STEPS,
    "unbilled_presence": ("month", "to_second"),
    "last_rates": ("month", "month_start"),
    "estimates": (),
    "estimated_charges": ("columns",),
}
"""The steps in order, each with the SQL fragments it takes."""


def is_complete(engine: Engine, month: Month) -> bool:
    """Return whether the bill covers the month to its end for every service of every account that has machines.

    Services of months before count too: their bill for this month may not have arrived yet.
    """
    used = "origin = 'bill' AND charge_category = 'Usage'"
    machines = f"SELECT lower(resource_id) FROM charge_kinds WHERE {used} AND category IN ('compute', 'platform')"
    before = month_before(engine, month) or month
    ends = engine.rows(
        f"SELECT coalesce(max(metered_end) FILTER (month = DATE '{month}-01'), 0) FROM charge_kinds "
        f"WHERE {used} AND month IN (DATE '{month}-01', DATE '{before}-01') AND metered_end IS NOT NULL "
        f"AND lower(resource_id) IN ({machines}) GROUP BY billing_account, account, service_name"
    )
    return bool(ends) and all(end >= month.end.timestamp() for (end,) in ends)


def month_before(engine: Engine, month: Month) -> Month | None:
    """Return the last month before this one that has a bill, whose machine costs are the last known rates."""
    (day,) = engine.row(f"SELECT max(month) FROM charge_kinds WHERE origin = 'bill' AND month < DATE '{month}-01'")
    return Month.of(day) if day else None


def make_empty(engine: Engine) -> None:
    """Make an empty `estimates`, for a month in which nothing is estimated."""
    engine.table(
        "estimates", f"SELECT {', '.join(f'CAST(NULL AS {type_}) AS {name}' for name, type_ in _EMPTY)} WHERE false"
    )


def run(engine: Engine, kinds: ChargeKinds, month: Month, as_of: datetime) -> None:
    """Make the `estimates` of the month, and add them to the charges and their kinds."""
    fragments = _bounds(month) | {
        "to_second": str(int(min(as_of, month.end).timestamp())),
        "columns": ", ".join(f"CAST({sql} AS {column.type}) AS {column.name}" for column, sql in _columns()),
    }
    for step, names in STEPS.items():
        engine.step(PACKAGE, step, step, {name: fragments[name] for name in names})
    facts.add_charges(engine, kinds, "SELECT * FROM estimated_charges")


def make_coverage(engine: Engine, month: Month) -> None:
    """Make `billed_services` and `billed_machines`: how far the bill covers each service of each machine."""
    for step, names in COVERAGE_STEPS.items():
        engine.step(PACKAGE, step, step, {name: _bounds(month)[name] for name in names})


def _bounds(month: Month) -> dict[str, str]:
    start, end = (str(int(moment.timestamp())) for moment in (month.start, month.end))
    return {"month": f"DATE '{month}-01'", "month_start": start, "month_end": end}


def _columns() -> list[tuple[Column, str]]:
    """Return SQL for each column of a charge, in terms of the columns of an estimate."""
    sql = {
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
    sql |= {basis: f"{basis}_part" for basis in BASES}
    return [(column, sql.get(column.name, "NULL")) for column in CHARGES.columns]


_EMPTY = (
    *((column.name, column.type) for column in ESTIMATES.columns if column.name != "effective"),
    *(("effective", MONEY), ("rated_seconds", "BIGINT")),
)
