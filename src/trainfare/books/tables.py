"""The tables of a book, made from the account of one month."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType

from trainfare.books.context import BuildContext
from trainfare.books.inputs import ACCOUNT_VERSION, Inputs
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import parquet
from trainfare.files.locations import Location
from trainfare.findings import failure_modes, record_problems
from trainfare.measures import coverage, egress, lost_work
from trainfare.normalize import estimates
from trainfare.period import Month
from trainfare.settings.config import dump_settings
from trainfare.store import Book, NewBook, Store, Total, book_views
from trainfare.tables import BASES, ESTIMATE_ERRORS, ESTIMATES, PAST_ESTIMATES, Table

PACKAGE = "trainfare.measures"
TABLES = {
    "shares": "stored_shares",
    "share_kinds": "share_kinds",
    "payers": "payers",
    "book_attempts": "book_attempts",
    "book_placements": "stored_placements",
    "book_machines": "book_machines",
    "bill_totals": "bill_totals",
    "conversions": "conversions",
    "work_costs": "work_costs",
    "book_work": "book_work",
    "checkpointing": "checkpointing",
    "attempt_usage": "attempt_usage",
    "book_quality": "job_quality",
    "egress_costs": "egress_costs",
    "spend_rates": "spend_rates",
    "estimates": "stored_estimates",
    "past_estimates": "past_estimates",
    "estimate_errors": "estimate_errors",
    "findings": "findings",
    "failure_modes": "failure_modes",
    "failure_mode_evidence": "failure_mode_evidence",
    "rules_in_force": "rules_in_force",
    "settings": "settings",
    "closed_months": "closed_months",
    "billed_elsewhere": "billed_elsewhere",
    "other_months": "other_months",
}
"""The files of a book, and the table in the engine that each is written from."""
KEPT_AFTER_WITHDRAWAL = ("estimate_errors", "rules_in_force", "settings")
"""The tables that keep their rows when a month is withdrawn."""
READABLE_NAMES = (*TABLES, *book_views.NUMBERED)
"""The names that an open book occupies in an engine."""
COST_TABLES = (
    *("shares", "share_kinds", "payers", "book_attempts", "book_placements", "book_machines", "bill_totals"),
    *("conversions", "estimates", "past_estimates", "estimate_errors", "findings", "rules_in_force", "settings"),
    *("closed_months", "billed_elsewhere", "other_months"),
)
"""The tables that a cost report reads."""


@dataclass(frozen=True)
class BookDraft:
    """A month being built: where its files go, and its current version."""

    store: Store
    build_id: str
    month: Month
    current: Book | None

    def path(self, table: str) -> Location:
        return self.store.lake.book_path(table, self.month, self.build_id)

    @cached_property
    def files(self) -> dict[str, Location]:
        return {name: self.path(name) for name in TABLES}

    def previous_files(self, unusable: set[str]) -> dict[str, Location]:
        """The files of the current version that are neither missing nor damaged."""
        return dict(self.store.files(self.current, unusable).files) if self.current else {}

    def stated_before(self) -> list[Location]:
        """The files that state what would move in closed months: of the current version, and of the month before."""
        before = self.store.catalog.latest(self.month.previous())
        found = (self.store.table(book, "closed_months") for book in (self.current, before) if book)
        return [path for path in found if path]

    def publish(self, engine: Engine, inputs: Inputs, fingerprint: str, complete_through: datetime | None) -> Book:
        """Publish the written files as the next version."""
        book = NewBook(
            engine=engine.name,
            inputs_sha256=fingerprint,
            complete_through=complete_through,
            files={name: self.store.lake.relative(path) for name, path in self.files.items()},
            rows={name: engine.row(f'SELECT count(*) FROM "{table}"')[0] for name, table in TABLES.items()},
            totals=tuple(Total(*total) for total in totals(engine)),
            deliveries=inputs.delivery_numbers,
        )
        return self.store.publish(self.month, self.current.version if self.current else None, book)


def make_settings(context: BuildContext, as_of: str | None) -> None:
    """Make `settings`: what it takes to run the account of this book again."""
    columns = "settings VARCHAR, as_of VARCHAR, account_version VARCHAR"
    context.engine.values("settings", columns, [(dump_settings(context.config), as_of, ACCOUNT_VERSION)])


def has_older_version(engine: DuckDB, files: Mapping[str, Location]) -> bool:
    """Whether an older Trainfare, whose accounts may differ, built the book with these files."""
    if "settings" not in files:
        return False
    (version,) = engine.row(f"SELECT account_version FROM {parquet(files['settings'])}")
    return bool(version != ACCOUNT_VERSION)


def measure(
    engine: Engine,
    month: Month,
    previous: Mapping[str, Location] = MappingProxyType({}),
    only_cost: bool = False,
    labels: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> datetime | None:
    """Make the measures and findings of a month, or only `COST_TABLES`; return how far the bill is complete.

    `previous` has the files of the current version, if there is one: its estimates are compared with the bill. `labels`
    are the tags that the settings map.
    """
    through = complete_through(engine, month)
    second = int(through.timestamp()) if through else int(month.start.timestamp())
    bounds = {"month_start": str(int(month.start.timestamp())), "month_end": str(int(month.end.timestamp()))}
    coverage.run(engine, month)
    coverage.find_elsewhere(engine, month)
    shown_through = max(second, _estimated_through(engine))
    engine.step(PACKAGE, "stored_placements", "stored_placements", bounds | {"complete_through": str(shown_through)})
    engine.view("book_placements", book_views.placements("stored_placements", "attempts", "machines"))
    for step in ("book_attempts", "book_machines", "bill_totals", "stored_estimates"):
        engine.step(PACKAGE, step, step)
    engine.step(PACKAGE, "cost_summary", "cost_summary", {"first_special": str(book_views.FIRST_SPECIAL)})
    make_conversions(engine)
    _make_estimate_errors(engine, month, previous)
    record_problems.run(engine, month, second)
    if not only_cost:
        lost_work.run(engine, month, second)
        engine.step(PACKAGE, "attempt_usage", "attempt_usage", bounds)
        egress.run(engine)
        day = {"complete_through": str(second), "a_day_before": _timestamp(second - 86400)}
        engine.step(PACKAGE, "spend_rates", "spend_rates", day)
        failure_modes.run(engine, month, labels)
    return through


def write(engine: Engine, files: Mapping[str, Location]) -> None:
    """Write the tables of a book, except the shares, which were written when they were checked."""
    for name, path in files.items():
        if name != "shares":
            engine.write_parquet(f'SELECT * FROM "{TABLES[name]}"', path)


def _timestamp(second: int) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}'"


def _estimated_through(engine: Engine) -> int:
    """The second through which hours are estimated; 0 if none are."""
    (last,) = engine.row("SELECT coalesce(max(ends), 0) FROM estimates")
    return int(last)


def make_conversions(engine: Engine) -> None:
    """Make `conversions`. If nothing was converted, skip reading the bill for it."""
    if engine.row("SELECT count(*) FROM routed_kinds WHERE converted_from IS NOT NULL")[0]:
        engine.step(PACKAGE, "conversions", "conversions")
    else:
        engine.table("conversions", "SELECT * FROM adjustment_conversions")


def _nulls(table: Table) -> str:
    return ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in table.columns)


def _make_estimate_errors(engine: Engine, month: Month, previous: Mapping[str, Location]) -> None:
    """Make `past_estimates`, and `estimate_errors`: all of these that the bill covers, compared with what it says now.

    Nothing is carried over from the errors of the previous version: the bill may have changed since.
    """
    for table in (ESTIMATES, PAST_ESTIMATES):
        engine.ingest(f"previous_{table.name}", previous_rows(engine, table, previous.get(table.name)))
    engine.step(PACKAGE, "past_estimates", "past_estimates")
    if engine.row("SELECT count(*) FROM past_estimates")[0]:
        estimates.make_coverage(engine, month)
        for step in ("covered_estimates", "estimate_errors"):
            engine.step(PACKAGE, step, step)
        engine.drop("covered_estimates", "billed_services", "billed_machines")
    else:
        engine.table("estimate_errors", f"SELECT {_nulls(ESTIMATE_ERRORS)} WHERE false")


def previous_rows(engine: Engine, table: Table, path: Location | None) -> str:
    """Return a SELECT of a table of the previous version; columns that it did not have yet are null."""
    if path is None:
        return f"SELECT {_nulls(table)} WHERE false"
    found = {name for name, *_ in engine.reader.rows(f"DESCRIBE SELECT * FROM {parquet(path)}")}
    columns = (c.name if c.name in found else f"CAST(NULL AS {c.type}) AS {c.name}" for c in table.columns)
    return f"SELECT {', '.join(columns)} FROM {parquet(path)}"


def complete_through(engine: Engine, month: Month) -> datetime | None:
    """The end of the last metered charge in the month: later hours have no bill yet.

    Charges for a whole month say nothing about the progress of metering, unless there are no others. Ledgers say
    nothing about the bill, unless there is none.
    """
    (second,) = engine.row(
        "SELECT coalesce(max(metered_end) FILTER (origin = 'bill'), "
        "max(epoch_second(last_end)) FILTER (origin = 'bill'), max(epoch_second(last_end))) "
        "FROM routed_kinds WHERE charge_category = 'Usage' AND origin <> 'estimate' "
        f"AND epoch_second(first_start) < {int(month.end.timestamp())}"
    )
    return None if second is None else min(datetime.fromtimestamp(second, UTC), month.end)


def totals(engine: Engine) -> list[tuple[str, str, str, Decimal, Decimal]]:
    """Both sides of the account, added up independently: source, currency, basis, charges and shares."""
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    shares = (
        "(SELECT k.source, k.currency, s.* FROM share_kind_totals s JOIN share_kinds k ON k.share_kind = s.share_kind)"
    )
    charged, shared = (
        {
            (record["source"], record["currency"]): record
            for record in engine.records(f"SELECT source, currency, {sums} FROM {table} GROUP BY ALL")
        }
        for table in ("bill_totals", shares)
    )
    return [
        (source, currency, basis, record[basis], shared[source, currency][basis])
        for (source, currency), record in sorted(charged.items())
        for basis in BASES
    ]
