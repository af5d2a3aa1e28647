"""Which deliveries a month is built from: those with its charges, and those that tell about their time."""

from collections.abc import Collection, Iterable, Sequence, Set
from typing import Protocol, TypeVar

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.job_ids import job_id_sql
from trainfare.period import Month
from trainfare.sources import deliveries
from trainfare.sources.kinds import Kind


class Delivery(Protocol):
    """What decides whether a delivery is relevant to a month."""

    @property
    def number(self) -> int: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def source(self) -> str: ...
    @property
    def lists_machines(self) -> bool: ...
    def select(self, engine: DuckDB) -> str: ...


AnyDelivery = TypeVar("AnyDelivery", bound=Delivery)


def charged_by_month(engine: Engine) -> dict[Month, set[int]]:
    """Return the numbers of the deliveries with charges, by month. Lines are read only if a month has several."""
    found = engine.rows("SELECT month, min(first_delivery), max(last_delivery) FROM charge_kinds GROUP BY month")
    if all(first == last for _, first, last in found):
        return {Month.of(day): {first} for day, first, _ in found}
    charged: dict[Month, set[int]] = {}
    for day, delivery in engine.rows(
        "SELECT DISTINCT billing_month(billing_start, billing_end), delivery FROM charges"
    ):
        charged.setdefault(Month.of(day), set()).add(delivery)
    return charged


def deliveries_for_month(
    engine: Engine,
    delivered: Sequence[AnyDelivery],
    month: Month,
    charged: Set[int],
    names: Collection[str] = (),
) -> list[AnyDelivery]:
    """Return the deliveries that a month is built from.

    These are the files with its charges; job logs, measurements and prices that overlap the month or the time of these
    charges; results of the jobs in these logs, or of jobs in no log; and all machine files. Exchange rates count
    through what they converted.
    """
    first_day = f"DATE '{month}-01'"
    first, last = engine.row(
        f"SELECT least(min(first_start), TIMESTAMP '{month}-01'), "
        f"greatest(max(last_end), TIMESTAMP '{month.next()}-01') FROM charge_kinds WHERE month = {first_day}"
    )
    during = {
        Kind.JOBS: f"started < TIMESTAMP '{last}' AND coalesce(ended, started) >= TIMESTAMP '{first}' OR ended IS NULL",
        Kind.USAGE: f"started < TIMESTAMP '{last}' AND ended >= TIMESTAMP '{first}'",
        Kind.PRICES: f"valid_from < TIMESTAMP '{last}' AND coalesce(valid_to > TIMESTAMP '{first}', true)",
    }
    all_logs = [file for file in delivered if file.kind.is_job_log]
    logs = [file for file in all_logs if _has(engine, file, during[Kind.JOBS])]
    # Results of a job that no log has concern every month: each of its books has a finding.
    of_month, of_any = (" UNION ALL ".join(job_id_selects(engine, files, names)) for files in (logs, all_logs))
    during[Kind.QUALITY] = f"job_id NOT IN ({of_any})" if of_any else "true"
    during[Kind.QUALITY] += f" OR job_id IN ({of_month})" if of_month else ""
    return [
        file
        for file in delivered
        if file.number in charged
        or file in logs
        or file.lists_machines
        or file.kind.is_ledger
        or (not file.kind.is_job_log and file.kind in during and _has(engine, file, during[file.kind]))
    ]


def job_id_selects(engine: Engine, logs: Iterable[Delivery], names: Collection[str]) -> list[str]:
    """Return a SELECT for each job log of the ids its jobs may be known by: as logged, and with their cluster.

    The name of a source in `names` takes the place of a missing cluster.
    """
    selects = []
    for log in logs:
        cluster = f"coalesce(log_cluster, {deliveries.log_name(log.source, names)})"
        ids = f"unnest([job_id, {job_id_sql(cluster, 'job_id')}]) AS job_id"
        selects.append(f"SELECT DISTINCT {ids} FROM ({log.select(engine.reader)})")
    return [f"SELECT job_id FROM ({select}) WHERE job_id IS NOT NULL" for select in selects]


def ingest_other_jobs(engine: Engine, logs: Iterable[Delivery], names: Collection[str]) -> None:
    """Make `other_jobs`, the ids of jobs in these logs of other times."""
    empty = "SELECT CAST(NULL AS VARCHAR) AS job_id WHERE false"
    engine.ingest("other_jobs", *(job_id_selects(engine, logs, names) or [empty]))


def _has(engine: Engine, file: Delivery, rows: str) -> bool:
    select = file.select(engine.reader)
    return bool(engine.reader.row(f"SELECT EXISTS (SELECT 1 FROM ({select}) WHERE {rows})")[0])
