"""Rebuild closed months from today's records, and book the difference to what is booked for them already.

A closed month is rebuilt under the rules, labels and exchange rates of its closing. If nothing but its job log or the
rules changed, nothing is booked: the book only states what would move.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import msgspec

from trainfare.allocate import account, adjustments, rules
from trainfare.allocate.weights import PACKAGE
from trainfare.books import adjust, tables
from trainfare.books.adjust import ClosedMonth
from trainfare.books.context import BuildContext
from trainfare.books.inputs import ACCOUNT_VERSION, load_charges
from trainfare.books.month import normalize_month
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import parquet, quoted
from trainfare.files.locations import Location
from trainfare.query.stored import select_of
from trainfare.settings.config import Config
from trainfare.sources.deliveries import ADJUSTING, DeliveredFile
from trainfare.store import Book, Store
from trainfare.tables import CLOSED_MONTHS, CONVERSIONS, LABELS, SHARES, Column

Moved = list[tuple[Decimal | None, str | None]]
"""What would move, per currency."""
_SHARES = tuple(name for name in SHARES.names if name not in ("source", "estimated"))
_TOTALS = tuple(name for name in adjustments.TOTALS.names if name != "source")
_CONVERSIONS = tuple(name for name in CONVERSIONS.names if name != "adjusts")
_LABELS = (*LABELS, "labels")
_ATTEMPTS = ("job_id", "attempt", "state", *_LABELS, "queued_from", "queued_to")
_MACHINES = (
    "lower(resource_id) AS resource, machine_id, resource_id, CAST(gpus * 1000000 AS BIGINT) AS gpu_micros, "
    "CAST(cpus * 1000 AS BIGINT) AS cpu_millis, CAST(memory_gb * 1000 AS BIGINT) AS memory_mbs, gpu_model, pool, team, "
    "cluster, region, account, CAST(-9000000000 AS BIGINT) AS existed_from, CAST(253402300800 AS BIGINT) AS existed_to, "
    "on_bill, listed"
)
"""The machines of a book as the columns of `machines`, without their number."""

_MACHINE_NAMES = (
    *("resource", "machine_id", "resource_id", "gpu_micros", "cpu_millis", "memory_mbs", "gpu_model", "pool", "team"),
    *("cluster", "region", "account", "existed_from", "existed_to", "on_bill", "listed"),
)


def _types(columns: Iterable[Column]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)


_SHARE_TYPES = _types(column for column in SHARES.columns if column.name != "estimated")
_RESTATED = {
    "restated_shares": _SHARE_TYPES,
    "restated_totals": _types(adjustments.TOTALS.columns),
    "restated_conversions": _types(CONVERSIONS.columns),
    "restated_attempts": (
        f"job_id VARCHAR, attempt INTEGER, state VARCHAR, {', '.join(f'{name} VARCHAR' for name in _LABELS)}, "
        "queued_from BIGINT, queued_to BIGINT"
    ),
    "restated_machines": (
        "resource VARCHAR, machine_id VARCHAR, resource_id VARCHAR, gpu_micros BIGINT, cpu_millis BIGINT, "
        "memory_mbs BIGINT, gpu_model VARCHAR, pool VARCHAR, team VARCHAR, cluster VARCHAR, region VARCHAR, "
        "account VARCHAR, existed_from BIGINT, existed_to BIGINT, on_bill BOOLEAN, listed BOOLEAN"
    ),
}
"""The tables that rebuilt months add their rows to."""


def run(context: BuildContext, store: Store, closed: Sequence[ClosedMonth], previous: Sequence[Location]) -> bool:
    """Make the tables of `adjustments.RESTATED` for these closed months; return whether any month was rebuilt.

    A rebuilt month replaces the charges in the engine. `previous` has files of `closed_months`: what would move is
    taken from there if nothing that it depends on has changed.
    """
    engine = context.engine
    for name, columns in _RESTATED.items():
        engine.values(name, columns, [])
    known, was_rebuilt = _known_moves(context, previous), False
    stated: list[tuple[object, ...]] = []
    for one in closed:
        restated = _Restatement(context, store, one)
        moved = known.get((str(one.month), restated.fingerprint)) if restated.changed else []
        if one.is_adjusted or moved is None:
            was_rebuilt = True
            context.progress(f"rebuilding {one.month}")
            restated.read_booked()
            if one.is_adjusted:
                restated.book()
            moved = restated.moved() if moved is None else moved
        files = json.dumps([file.number for file in one.files]) if one.is_adjusted else None
        difference = (restated.fingerprint, restated.changed) if restated.changed else (None, None)
        stated += [
            (str(one.month), files, *difference, amount, currency)
            for amount, currency in moved or [(None, None)]
            if files or difference[0]
        ]
    engine.values("restated_months", _types(CLOSED_MONTHS.columns), stated)
    return was_rebuilt


def has_shares(engine: Engine) -> bool:
    """Return whether anything is booked for the months that were rebuilt."""
    return bool(engine.row("SELECT count(*) FROM restated_shares")[0])


def rebuild(
    context: BuildContext,
    store: Store,
    one: ClosedMonth,
    files: Sequence[DeliveredFile],
    config: Config,
    keep_weights: bool = False,
) -> bool:
    """Run the account of a closed month from these files; return False if they have no charges of it.

    Attempts that were in its book keep their labels, and nothing is estimated.
    """
    engine = context.engine
    context = replace(context, config=msgspec.structs.replace(config, estimate=False))
    booked = adjust.booked_rates(engine.reader, store, one)
    charges = load_charges(context, files, booked, one.month)
    if not normalize_month(context, charges, one.month, charges.relevant(engine, files, one.month)):
        return False
    engine.ingest("closed_attempts", select_of(store.files(one.closing), "book_attempts"))
    labels = ", ".join(f"CASE WHEN c.job_id IS NULL THEN a.{name} ELSE c.{name} END AS {name}" for name in _LABELS)
    engine.table(
        "attempts",
        f"SELECT a.attempt_key, a.job_id, a.attempt, a.state, {labels}, a.queued_from, a.queued_to FROM attempts a "
        "LEFT JOIN closed_attempts c ON c.job_id = a.job_id AND c.attempt = a.attempt",
    )
    account.run(engine, context.config, one.month, keep_weights)
    return True


@dataclass(frozen=True)
class _Restatement:
    """One closed month, as it is booked and as it would be today."""

    context: BuildContext
    store: Store
    one: ClosedMonth

    @property
    def engine(self) -> Engine:
        return self.context.engine

    @cached_property
    def config(self) -> Config:
        """The settings of the closing."""
        return adjust.settings_of(self.engine.reader, self.store, self.one.closing)[0]

    @cached_property
    def changed(self) -> str:
        """What changed besides bills and is not booked with them; empty if nothing did."""
        today = self.context.config
        has_other_rules = _rules_of(today) != _rules_of(self.config)
        has_other_log = bool(self.one.log_changes) and not self.one.is_adjusted
        named = {"job log": has_other_log, "rules": has_other_rules}
        return " and ".join(name for name, is_changed in named.items() if is_changed)

    @cached_property
    def fingerprint(self) -> str:
        """A fingerprint of everything that `moved` depends on."""
        booked = [f"{book.month}|{book.version}" for book in (self.one.closing, *self.one.adjusting)]
        files = sorted(f"{file.kind}|{file.sha256}" for file in self.one.files if file.kind != "jobs")
        parts = [ACCOUNT_VERSION, *booked, *self.one.contents(), *files, *_rules_of(self.context.config)]
        return hashlib.sha256("|".join(parts).encode()).hexdigest()

    def book(self) -> None:
        """Add the difference between the month as it is today and everything booked for it to the restated tables."""
        suffix = {"adjusting": quoted(f"{ADJUSTING}{self.one.month}")}
        self._rebuild(self.config)
        self.engine.step(PACKAGE, "restated_shares", "month_shares", suffix)
        self.engine.step(PACKAGE, "restated_totals", "month_totals", suffix)
        self.engine.step(PACKAGE, "restated_conversions", "month_conversions", {"month": quoted(self.one.month)})
        for name in ("shares", "totals", "conversions"):
            self.engine.add(f"restated_{name}", f"SELECT * FROM month_{name}")
        for side in ("rebuilt", "booked"):
            for name, keys in (("attempts", ("job_id", "attempt")), ("machines", ("resource",))):
                same = " AND ".join(f"r.{key} = n.{key}" for key in keys)
                self.engine.add(
                    f"restated_{name}",
                    f"SELECT n.* FROM {side}_{name} n LEFT JOIN restated_{name} r ON {same} WHERE r.{keys[0]} IS NULL",
                )

    def moved(self) -> Moved:
        """Return what other payers would pay, per currency, if the month was rebuilt under today's rules."""
        today = self.context.config
        names = ("rule", "default_rules", "labels")
        self._rebuild(msgspec.structs.replace(self.config, **{name: getattr(today, name) for name in names}))
        self.engine.step(PACKAGE, "moved_cost", "moved_cost")
        return [(amount, currency) for currency, amount in self.engine.rows("SELECT * FROM moved_cost ORDER BY 1")]

    def read_booked(self) -> None:
        """Make `booked_` views of everything that is booked for the month, and `month_shares` without rows."""
        own = [(self.one.closing, f"source NOT LIKE {quoted(f'%{ADJUSTING}%')}", "source")]
        suffix = f"{ADJUSTING}{self.one.month}"
        stripped = f"substr(source, 1, length(source) - {len(suffix)}) AS source"
        later = [(book, f"source LIKE {quoted(f'%{suffix}')}", stripped) for book in self.one.adjusting]
        for name, table, columns in (("shares", "shares", _SHARES), ("totals", "bill_totals", _TOTALS)):
            selects = [
                f"SELECT {source}, {', '.join(columns)} FROM ({self._select(book, table)}) WHERE {where}"
                for book, where, source in (*own, *later)
            ]
            self.engine.ingest(f"booked_{name}", *selects)
        adjusted = f"adjusts = {quoted(self.one.month)}"
        rates = [(self.one.closing, "adjusts IS NULL"), *((book, adjusted) for book in self.one.adjusting)]
        selects = [
            f"SELECT {', '.join(_CONVERSIONS)} FROM ({self._select(book, 'conversions')}) WHERE {where}"
            for book, where in rates
        ]
        self.engine.ingest("booked_conversions", *selects)
        # Of an attempt or machine in several books, the one of the closing counts.
        self._read_named("attempts", ", ".join(_ATTEMPTS), _ATTEMPTS, "job_id, attempt")
        self._read_named("machines", _MACHINES, _MACHINE_NAMES, "resource")
        self.engine.values("month_shares", _SHARE_TYPES, [])

    def _read_named(self, name: str, columns: str, names: Sequence[str], keys: str) -> None:
        """Make `booked_attempts` or `booked_machines`."""
        books = enumerate((self.one.closing, *self.one.adjusting))
        selects = [f"SELECT {at} AS book, {columns} FROM ({self._select(book, f'book_{name}')})" for at, book in books]
        self.engine.ingest(f"all_{name}", *selects)
        first = f"row_number() OVER (PARTITION BY {keys} ORDER BY book) AS ranking"
        self.engine.table(
            f"booked_{name}", f"SELECT {', '.join(names)} FROM (SELECT *, {first} FROM all_{name}) WHERE ranking = 1"
        )

    def _select(self, book: Book, table: str) -> str:
        return select_of(self.store.files(book), table)

    def _rebuild(self, config: Config) -> None:
        """Make `rebuilt_` tables of the month from today's records under these settings."""
        engine = self.engine
        has_charges = rebuild(self.context, self.store, self.one, self.one.files, config)
        if has_charges:
            engine.step(tables.PACKAGE, "bill_totals", "rebuilt_totals")
            tables.make_conversions(engine)
        made = {
            "shares": f"SELECT source, {', '.join(_SHARES)} FROM shares",
            "totals": "SELECT * FROM rebuilt_totals",
            "conversions": f"SELECT {', '.join(_CONVERSIONS)} FROM conversions",
            "attempts": f"SELECT {', '.join(_ATTEMPTS)} FROM attempts",
            "machines": f"SELECT {', '.join(_MACHINE_NAMES)} FROM machines",
        }
        for name, select in made.items():
            engine.table(f"rebuilt_{name}", select if has_charges else f"SELECT * FROM booked_{name} WHERE false")


def _rules_of(config: Config) -> tuple[str, str]:
    """Return the rules and labels of settings as text that differs if they do."""
    return msgspec.json.encode(rules.in_force(config)).decode(), json.dumps(config.labels, sort_keys=True)


def _known_moves(context: BuildContext, previous: Sequence[Location]) -> dict[tuple[str, str], Moved]:
    """Return what earlier books state about what would move, by closed month and fingerprint."""
    found: dict[tuple[str, str], Moved] = {}
    for path in previous:
        sql = f"SELECT DISTINCT month, fingerprint, moved, currency FROM {parquet(path)} WHERE fingerprint IS NOT NULL"
        stated: dict[tuple[str, str], Moved] = {}
        for month, fingerprint, moved, currency in context.reader.rows(f"{sql} ORDER BY ALL"):
            stated.setdefault((month, fingerprint), []).extend([(moved, currency)] if moved is not None else [])
        found = stated | found
    return found
