"""Inspect files before anything is built: what there is, what it covers, and which names match."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import msgspec

from trainfare.books.inputs import AMORTIZED
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import BadInputError, Problem, TrainfareError, UnreachableError
from trainfare.files.locations import Location
from trainfare.normalize import facts
from trainfare.normalize.amortization import ledgers
from trainfare.period import Month
from trainfare.settings.config import Config, SourceSettings
from trainfare.sources import deliveries, near_misses, registry
from trainfare.sources.deliveries import BILLING_MONTH, DeliveredFile
from trainfare.sources.kinds import Kind
from trainfare.tables import LABELS, PLACEMENTS, USAGE

SHOWN_NAMES = 3
"""How many names of each list are shown where two lists do not match."""
TIMES = {
    Kind.BILL: ("period_start", "period_end"),
    Kind.JOBS: ("started", "ended"),
    Kind.USAGE: ("started", "ended"),
    Kind.PRICES: ("valid_from", "valid_to"),
}
"""The columns that say which time a file covers, by kind of file."""


@dataclass(frozen=True)
class ReadableFile:
    """A file that can be read, and what it covers."""

    path: str
    kind: Kind
    format: str
    rows: int
    first: datetime | None
    last: datetime | None
    unread_columns: tuple[str, ...]
    """Columns of a machine file that nothing reads."""
    label_columns: tuple[str, ...]
    """Columns of a job file that become labels."""


@dataclass(frozen=True)
class BilledMonth:
    """What the bills say about one month, in one currency."""

    month: Month
    currency: str
    lines: int
    effective: Decimal
    first: datetime
    billed_through: datetime
    hours_through: datetime | None
    """The end of the last line for a day or less of a machine's time; null if there is none."""
    ends: datetime
    """The end of the billing period."""
    days: int
    """Days on which a charge begins."""
    hourly_lines: int
    """Lines for an hour or less."""

    @property
    def is_complete(self) -> bool:
        return self.billed_through >= self.ends


@dataclass(frozen=True)
class JobLog:
    """What all job logs hold together."""

    rows: int = 0
    jobs: int = 0
    attempts: int = 0
    machines: int = 0
    first: datetime | None = None
    last: datetime | None = None
    running: int = 0
    with_gpus: int = 0
    """Rows that state how many GPUs were held."""
    labels: dict[str, int] = field(default_factory=dict)
    """Rows with a value, by label."""
    unbilled_months: tuple[Month, ...] = ()
    """Months with jobs and without charges."""


@dataclass(frozen=True)
class Names:
    """How the names in the job log match the resources on the bill and the machine file."""

    in_log: int = 0
    on_bill: int = 0
    """Names in the log that are resources on the bill, or owned machines in a ledger."""
    listed: int = 0
    """Rows of machine files."""
    listed_on_bill: int = 0
    gpu_resources: int = 0
    """Resources on the bill that are known to have GPUs."""
    sized: int = 0
    """Names in the log whose machine has a known number of GPUs."""
    only_in_log: tuple[str, ...] = ()
    only_on_bill: tuple[str, ...] = ()
    only_listed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """Everything that was found."""

    files: tuple[ReadableFile, ...]
    problems: tuple[Problem, ...]
    """Why other files cannot be read."""
    months: tuple[BilledMonth, ...] = ()
    providers: tuple[str, ...] = ()
    log: JobLog = JobLog()
    names: Names = Names()
    measures: dict[str, int] = field(default_factory=dict)
    """Rows of measurements, by measure."""
    settings: Config = field(default_factory=Config)

    def rows(self, kind: Kind) -> int:
        """The rows of all files of this kind."""
        return sum(file.rows for file in self.files if file.kind is kind)

    @property
    def ledgers(self) -> dict[str, int]:
        """The rows of ledgers, by kind."""
        return {kind.value: self.rows(kind) for kind in Kind if kind.is_ledger and self.rows(kind)}


def inspect(engine: DuckDB, config: Config, folder: Path) -> Inspection:
    """Read every file of the sources, and say what is there. A file that cannot be read does not hide the others.

    Copies go below `folder`, and nothing else is written.
    """
    delivered, readable, problems = _read(engine, config, folder)
    found = Inspection(tuple(readable), tuple(problems), settings=config)
    bills = deliveries.charge_selects(engine, config, delivered)
    logs = [file.select(engine) for file in delivered if file.kind is Kind.JOBS]
    if bills:
        found = replace(found, months=_billed_months(engine, bills), providers=_providers(engine, bills))
    if logs:
        found = replace(found, log=_job_log(engine, logs, {one.month for one in found.months}))
    if bills or logs or ledgers.has_ledgers(delivered):
        found = replace(found, names=_names(engine, config, delivered, sorted({one.month for one in found.months})))
    return replace(found, measures=_measures(engine, delivered))


def _read(
    engine: DuckDB, config: Config, folder: Path
) -> tuple[list[DeliveredFile], list[ReadableFile], list[Problem]]:
    """Ingest each file by itself; the same content counts once."""
    delivered: dict[tuple[Kind, str], DeliveredFile] = {}
    readable: list[ReadableFile] = []
    problems: list[Problem] = []
    for source in config.source:
        try:
            paths = deliveries.source_files(source, config.folder)
        except TrainfareError as error:
            problems.append(Problem(error.where, error.what, error.do))
            continue
        for path in paths:
            try:
                file = _ingested(engine, config, source, path, folder)
            except UnreachableError:
                raise
            except BadInputError as error:
                problems += error.problems
                continue
            if (file.kind, file.sha256) not in delivered:
                file = replace(file, number=len(delivered) + 1)
                delivered[file.kind, file.sha256] = file
                readable.append(_readable(engine, file))
    return [*delivered.values()], readable, problems


def _ingested(engine: DuckDB, config: Config, source: SourceSettings, path: Location, folder: Path) -> DeliveredFile:
    one = msgspec.structs.replace(source, path=str(path.absolute()))
    (file,) = deliveries.ingest(
        engine,
        msgspec.structs.replace(config, source=(one,)),
        lambda sha256, settings: folder / f"{sha256[:16]}-{settings[:8]}.parquet",
        lambda name, sha256, settings: None,
    )
    return file


def _readable(engine: DuckDB, file: DeliveredFile) -> ReadableFile:
    source, head = registry.by_name(file.format), registry.open_head(engine, file.path)
    first = last = None
    if file.kind in TIMES:
        start, end = TIMES[file.kind]
        first, last = engine.row(f"SELECT min({start}), max(coalesce({end}, {start})) FROM ({file.select(engine)})")
    unread, labels = near_misses.unread_columns(head, source), near_misses.label_columns(head, source)
    return ReadableFile(str(file.path), file.kind, file.format, file.lines, first, last, tuple(unread), tuple(labels))


def _billed_months(engine: DuckDB, bills: Sequence[str]) -> tuple[BilledMonth, ...]:
    """Summarize the bills by billing month. Without a billing period, a month ends with the calendar's."""
    rows = engine.rows(
        f"""SELECT {BILLING_MONTH} AS month, currency, count(*), sum(effective), min(period_start), max(period_end),
          max(period_end) FILTER (service_category = 'Compute' AND resource_id IS NOT NULL
            AND epoch_second(period_end) - epoch_second(period_start) <= 86400),
          greatest(max(billing_end), CAST(any_value({BILLING_MONTH}) + INTERVAL 1 MONTH AS TIMESTAMP)),
          count(DISTINCT CAST(period_start AS DATE)),
          count(*) FILTER (epoch_second(period_end) - epoch_second(period_start) <= 3600)
        FROM ({_together(bills)}) GROUP BY month, currency ORDER BY month, currency"""
    )
    return tuple(BilledMonth(Month.of(day), *values) for day, *values in rows)


def _providers(engine: DuckDB, bills: Sequence[str]) -> tuple[str, ...]:
    """Return the providers on the bills, the one with the highest cost first."""
    rows = engine.rows(
        f"""SELECT provider FROM ({_together(bills)}) WHERE provider IS NOT NULL
        GROUP BY provider ORDER BY sum(effective) DESC, provider"""
    )
    return tuple(name for (name,) in rows)


def _job_log(engine: DuckDB, logs: Sequence[str], billed: set[Month]) -> JobLog:
    log = _together(logs)
    counted = ", ".join(f"count({label})" for label in LABELS)
    numbers = engine.row(
        f"""SELECT count(*), count(DISTINCT job_id), count(DISTINCT job_id || '#' || attempt),
          count(DISTINCT lower(machine_id)), min(started), max(coalesce(ended, started)), count(*) - count(ended),
          count(gpus), {counted} FROM ({log})"""
    )
    # The end is exclusive: a job that ends with a month did not run in the next one.
    last = "greatest(started, coalesce(ended, started) - INTERVAL 1 MICROSECOND)"
    months = engine.rows(
        f"""SELECT DISTINCT unnest(generate_series(date_trunc('month', started), date_trunc('month', {last}),
          INTERVAL 1 MONTH)) AS month FROM ({log}) ORDER BY month"""
    )
    labels = dict(zip(LABELS, numbers[8:], strict=True))
    unbilled = tuple(month for month in (Month.of(day) for (day,) in months) if month not in billed)
    return replace(JobLog(*numbers[:8]), labels=labels, unbilled_months=unbilled)


def _names(engine: DuckDB, config: Config, delivered: Sequence[DeliveredFile], months: Sequence[Month]) -> Names:
    """Match machines as a build does, and compare the lists. Owned machines are charged by their ledgers."""
    logs = [file for file in delivered if file.kind == "jobs"]
    rows = {
        "jobs": deliveries.table_selects(engine, logs, PLACEMENTS, names=config.source_names),
        "machines": [file.select(engine) for file in delivered if file.kind == "machines"],
    }
    kinds = facts.make_charges(engine, deliveries.charge_selects(engine, config, delivered), ())
    if ledgers.has_ledgers(delivered):
        months = sorted({*months, *ledgers.active_months(engine, delivered)})
        ledgers.amortize(engine, config, delivered, months, ledgers.last_full_hour(), AMORTIZED)
        facts.add_charges(engine, kinds, f"SELECT * FROM {AMORTIZED}")
    facts.match_machines(engine, months, rows)
    engine.table(
        "log_names",
        """SELECT lower(p.machine_id) AS name, min(p.machine_id) AS written,
          bool_or(coalesce(m.on_bill, false)) AS on_bill, bool_or(m.gpu_micros IS NOT NULL) AS is_sized
        FROM (SELECT DISTINCT machine_id FROM placement_rows) p
        LEFT JOIN machine_names n ON n.name = lower(p.machine_id) LEFT JOIN machines m ON m.resource = n.resource
        GROUP BY lower(p.machine_id)""",
    )
    listed = """SELECT l.machine_id, l.resource_id, r.resource IS NOT NULL AS on_bill
        FROM listed_machines l LEFT JOIN resources r ON r.resource = l.resource"""
    # Machines that no job names, the most expensive first; without any with GPUs, other machines are shown.
    costs = """SELECT r.resource_id, coalesce(r.gpus > 0, false) AS has_gpus, sum(k.effective) AS effective
        FROM resources r JOIN charge_kinds k ON lower(k.resource_id) = r.resource AND k.category = 'compute'
        WHERE r.resource NOT IN (SELECT n.resource FROM machine_names n JOIN log_names l ON l.name = n.name)
        GROUP BY r.resource_id, r.gpus"""
    in_log, on_bill, sized = engine.row(
        "SELECT count(*), count(*) FILTER (on_bill), count(*) FILTER (is_sized) FROM log_names"
    )
    listed_rows, listed_on_bill = engine.row(
        f"SELECT count(DISTINCT machine_id), count(DISTINCT machine_id) FILTER (on_bill) FROM ({listed})"
    )
    return Names(
        in_log,
        on_bill,
        listed_rows,
        listed_on_bill,
        engine.row("SELECT count(*) FROM resources WHERE gpus > 0")[0],
        sized,
        _shown(engine, "SELECT written FROM log_names WHERE NOT on_bill ORDER BY name"),
        _shown(engine, f"SELECT resource_id FROM ({costs}) ORDER BY has_gpus DESC, effective DESC, resource_id"),
        _shown(engine, f"SELECT DISTINCT resource_id FROM ({listed}) WHERE NOT on_bill ORDER BY resource_id"),
    )


def _shown(engine: DuckDB, select: str) -> tuple[str, ...]:
    return tuple(name for (name,) in engine.rows(f"{select} LIMIT {SHOWN_NAMES}"))


def _measures(engine: DuckDB, delivered: Iterable[DeliveredFile]) -> dict[str, int]:
    selects = deliveries.table_selects(engine, delivered, USAGE)
    if not selects:
        return {}
    rows = engine.rows(f"SELECT measure, count(*) FROM ({_together(selects)}) GROUP BY measure ORDER BY measure")
    return dict(rows)


def _together(selects: Sequence[str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM ({select})" for select in selects)
