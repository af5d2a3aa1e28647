"""What machines cost: prices as intervals, found in the same way as a book finds those of its estimates.

This reads the sources, as a build does, so it happens when they change, or a machine appears that nothing knows. What
is held in the meantime is followed without it: `holdings.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from trainfare.books import intake
from trainfare.books.context import BuildContext
from trainfare.books.inputs import LoadedCharges, load_charges
from trainfare.engine.choice import embedded
from trainfare.engine.duckdb import DuckDB
from trainfare.normalize import estimates, facts, relevance
from trainfare.normalize.facts import PACKAGE as NORMALIZE
from trainfare.period import Month
from trainfare.settings.config import Config
from trainfare.sources import deliveries
from trainfare.sources.deliveries import DeliveredFile
from trainfare.sources.recordings import recording
from trainfare.store import Store
from trainfare.store.recordings.catalog import RECEIVED

PACKAGE = "trainfare.live"
_LISTED = ("machines", "machine_names")


@dataclass(frozen=True)
class Fleet:
    """The machines that sources know, their names and prices, and the deliveries that say what is held."""

    month: Month
    machines: list[dict[str, Any]]
    names: list[dict[str, Any]]
    deliveries: list[int]
    """The job logs and events of the month; recordings are found in the catalog."""
    billed_through: dict[str, int]
    """By machine: the second through which all of it is billed."""
    with_ledger: list[str]
    """Machines whose cost comes from a ledger."""
    prices: list[dict[str, Any]]
    source_names: tuple[str, ...] = ()
    """The names of sources, which are part of the ids of jobs without a cluster."""

    def as_state(self) -> dict[str, Any]:
        """What `holdings.py` needs of it, in plain values."""
        return {
            "month": str(self.month),
            "machines": self.machines,
            "machine_names": self.names,
            "deliveries": self.deliveries,
            "source_names": self.source_names,
        }


def read_fleet(config: Config, store: Store, as_of: datetime) -> Fleet:
    """Read the sources, and find what each machine costs from where its bill ends up to the end of the month."""
    month = Month.of(as_of.date())
    with store.lake.building() as build_id, embedded() as engine:
        context = BuildContext(engine, config, as_of)
        delivered = intake.into_store(context, store, build_id)
        charges = load_charges(context, delivered)
        relevant = charges.relevant(engine, delivered, month)
        _make_prices(engine, charges, month, relevant)
        return replace(_fleet(engine, month, relevant), source_names=config.source_names)


def _make_prices(engine: DuckDB, charges: LoadedCharges, month: Month, relevant: Iterable[DeliveredFile]) -> None:
    """Make `estimates`, as a build does, as if each machine existed all the time."""
    rows = {kind: deliveries.table_selects(engine, relevant, table) for kind, (_, table) in facts.ROW_VIEWS.items()}
    charges.conversion.require_all(month)
    relevance.ingest_other_jobs(engine, [], ())  # results of jobs say nothing about prices
    facts.assign_keys(engine, charges.kinds)
    rows["prices"] = charges.conversion.convert_prices(rows["prices"], month.start.date(), month.end.date())
    facts.make_month(engine, month, rows, estimates.month_before(engine, month) or month)
    estimates.make_coverage(engine, month)
    first_day = f"DATE '{month}-01'"
    horizon = {"horizon": str(int(month.end.timestamp())), "month": first_day}
    engine.step(PACKAGE, "priced_presence", "unbilled_presence", horizon)
    engine.step(
        NORMALIZE, "last_rates", "last_rates", {"month": first_day, "month_start": str(int(month.start.timestamp()))}
    )
    engine.step(NORMALIZE, "estimates", "estimates")
    engine.step(PACKAGE, "price_intervals", "price_intervals")


def _fleet(engine: DuckDB, month: Month, relevant: Iterable[DeliveredFile]) -> Fleet:
    machines, names = (engine.records(f"SELECT * FROM {table}") for table in _LISTED)
    through = engine.rows(
        "SELECT m.resource, b.services_through FROM billed_machines b JOIN machines m USING (machine)"
    )
    ledgers = engine.rows(
        "SELECT DISTINCT lower(resource_id) FROM charge_kinds "
        f"WHERE origin = 'hardware' AND resource_id IS NOT NULL AND month = DATE '{month}-01' ORDER BY 1"
    )
    return Fleet(
        month,
        machines,
        names,
        [
            file.number
            for file in relevant
            if file.is_job_log and file.format != recording.NAME and file.source != RECEIVED
        ],
        dict(through),
        [resource for (resource,) in ledgers],
        engine.records("SELECT * FROM price_intervals"),
    )


def merged(known: Iterable[Mapping[str, Any]], found: Iterable[Mapping[str, Any]], now: int) -> list[dict[str, Any]]:
    """Return the prices of all time: those that were known before the first one found, and those found.

    An hour keeps the price it was estimated with once it is billed: the bill is shown against it, not in its place. A
    machine of which no price was found any more has none from now on.
    """
    rows = [dict(one) for one in found]
    first: dict[Any, int] = {}
    for one in rows:
        first[one["machine"]] = min(first.get(one["machine"], one["starts"]), one["starts"])
    for before in known:
        ends = min(before["ends"], first.get(before["machine"], now))
        if ends > before["starts"]:
            rows.append({**before, "ends": ends})
    return rows
