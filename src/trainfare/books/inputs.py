"""The inputs of books: deliveries, charges and adjustments, and a fingerprint that tells whether they changed."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from trainfare.allocate import rules
from trainfare.books import adjust, intake
from trainfare.books.adjust import NOTHING_BOOKED, BookedRates, ClosedMonth
from trainfare.books.context import BuildContext
from trainfare.engine.protocol import Engine
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.normalize import currencies, estimates, facts, relevance
from trainfare.normalize.amortization import ledgers
from trainfare.normalize.currencies import Conversion
from trainfare.normalize.facts import ChargeKinds
from trainfare.period import Month
from trainfare.settings.config import Config, dump_settings
from trainfare.sources import deliveries
from trainfare.sources.bills import overlaps
from trainfare.sources.deliveries import DeliveredFile
from trainfare.sources.recordings import recording
from trainfare.store import Book, Store

ACCOUNT_VERSION = "13"
"""Part of every fingerprint. Raise it when the same inputs give other shares or hours, or a book has other tables."""

AMORTIZED = "amortized_charges"
"""The table of the charges from ledgers, in the embedded engine."""


@dataclass(frozen=True)
class LoadedCharges:
    """The charges of all deliveries, in the engine: their months, kinds and conversion."""

    months: list[Month]
    deliveries_by_month: Mapping[Month, set[int]]
    kinds: ChargeKinds
    conversion: Conversion
    recorded_as_of: str | None
    """The time of the build, if any figure depends on it. Otherwise the same files give the same bytes."""
    source_names: tuple[str, ...] = ()
    """The names of sources, which are part of the ids of jobs without a cluster."""

    def relevant(self, engine: Engine, delivered: Sequence[DeliveredFile], month: Month) -> list[DeliveredFile]:
        """The deliveries that a month is built from.

        These include native bills without charges of any month: their rows may be needed to check those of other files.
        """
        charged = {number for numbers in self.deliveries_by_month.values() for number in numbers}
        checked = [file for file in delivered if file.native and file.number not in charged]
        of_month = self.deliveries_by_month.get(month, set())
        names = self.source_names
        return [*relevance.deliveries_for_month(engine, delivered, month, of_month, names), *checked]


@dataclass(frozen=True)
class Inputs:
    """Everything that books are built from."""

    delivered: Sequence[DeliveredFile]
    closed: Sequence[ClosedMonth]
    """The closed months, and what changed for them."""
    charges: LoadedCharges
    month_digests: Mapping[tuple[int, Month], str]
    """For bills of several months, a digest of each month's charges, by delivery and month."""
    unusable: set[str]
    """Files that the catalog names and that are missing or damaged. Books with such files are built again."""

    def unusable_files_of(self, book: Book | None) -> set[str]:
        return self.unusable.intersection(book.files.values()) if book else set()

    def closed_into(self, month: Month) -> list[ClosedMonth]:
        """The closed months whose adjustments are booked in an open month."""
        return [one for one in self.closed if one.into == month]

    @property
    def months(self) -> list[Month]:
        """The months with charges, and those in which only adjustments are booked."""
        return sorted({*self.charges.months, *(one.into for one in self.closed if one.is_adjusted)})

    @property
    def delivery_numbers(self) -> tuple[int, ...]:
        """The deliveries that it takes to run the account of a book again."""
        return tuple(file.number for file in self.delivered)

    def fingerprint(self, context: BuildContext, month: Month, relevant: Sequence[DeliveredFile]) -> str:
        """A fingerprint of a month's inputs: the settings that matter, its deliveries and its adjustments.

        For ledgers, recordings and bills of several months, only the part that concerns the month counts: a time entry
        of another month causes no new version. Estimates also depend on the hour, and on the rates of earlier bills.
        """
        settings = msgspec.json.encode((dump_settings(context.config), rules.in_force(context.config)))
        has_ledgers = ledgers.has_ledgers(relevant)
        amortized = ledgers.digests(context.reader, AMORTIZED, month) if has_ledgers else {}
        lines = sorted(
            f"{file.source}|{file.kind}|{self._content(file, month, amortized)}|{file.settings_sha256}"
            for file in relevant
            if not file.is_recording
        )
        recorders = sorted({file.recorder for file in relevant if file.is_recording})
        lines += [f"{name}|recorded|{recording.digest(context.reader, name, month)}" for name in recorders]
        lines += [line for one in self.closed_into(month) for line in one.contents()]
        lines.append(self.charges.conversion.fingerprint(month))
        if is_estimated(context.engine, context.config, month):
            lines.append(min(context.as_of, month.end).isoformat())
            lines += self._rate_bills(month)
        parts = [ACCOUNT_VERSION.encode(), settings, *(line.encode() for line in lines)]
        return hashlib.sha256(b"|".join(parts)).hexdigest()

    def _rate_bills(self, month: Month) -> list[str]:
        """The charges that the rates of a month's estimates may come from: those of the month and of all before."""
        return sorted(
            f"{earlier}|{self._content(file, earlier, {})}"
            for earlier, numbers in self.charges.deliveries_by_month.items()
            for file in self.delivered
            if earlier <= month and file.is_bill and file.number in numbers
        )

    def _content(self, file: DeliveredFile, month: Month, amortized: Mapping[int, str]) -> str:
        if ledgers.has_ledgers([file]):
            return amortized.get(file.number, "")
        return self.month_digests.get((file.number, month), file.sha256)


def read_inputs(context: BuildContext, store: Store, build_id: str) -> Inputs:
    """Read the sources into the store, find what changes closed months, and load all charges."""
    unusable = store.unusable_files()
    delivered = intake.into_store(context, store, build_id)
    closed = adjust.find(context, store, delivered)
    charges = load_charges(context, delivered)
    return Inputs(delivered, closed, charges, _month_digests(context, delivered, charges), unusable)


def load_charges(
    context: BuildContext,
    delivered: Sequence[DeliveredFile],
    booked: BookedRates = NOTHING_BOOKED,
    closed: Month | None = None,
) -> LoadedCharges:
    """Load the charges of all deliveries, converted to the configured currency.

    Ledgers are amortized over the months of bills, jobs and time entries; they open no other months. With `closed`, the
    charges of this month are loaded to rebuild it, at its booked rates.
    """
    engine, config = context.engine, context.config
    context.progress("reading bills")
    overlaps.require_none(engine.reader, [file for file in delivered if file.is_bill])
    conversion = _conversion(context, delivered, booked)
    bills = deliveries.charge_selects(engine.reader, config, delivered, is_kept=True)
    selects = [conversion.convert(_only(select, closed), closed) for select in bills]
    kinds = facts.make_charges(engine, selects, rules.matched_columns(rules.in_force(config)))
    if ledgers.has_ledgers(delivered):
        context.progress("amortizing ledgers")
        active = {*_charged_months(engine), *ledgers.active_months(engine.reader, delivered)}
        months = [closed] if closed else sorted(active)
        ledgers.amortize(engine.reader, config, delivered, months, context.as_of, AMORTIZED)
        kinds = facts.add_charges(engine, kinds, conversion.convert(f"SELECT * FROM {AMORTIZED}", closed))
    as_of = context.as_of.isoformat() if config.estimate or ledgers.has_ledgers(delivered) else None
    by_month = relevance.charged_by_month(engine)
    charges = LoadedCharges(sorted(by_month), by_month, kinds, conversion, as_of, config.source_names)
    return _with_estimated_months(context, delivered, charges)


def _only(charges: str, month: Month | None) -> str:
    """Return a SELECT of the charges of one month, or of all."""
    return f"SELECT * FROM ({charges}) WHERE {deliveries.BILLING_MONTH} = DATE '{month}-01'" if month else charges


def is_estimated(engine: Engine, config: Config, month: Month) -> bool:
    """Whether the month has hours without a bill that are to be estimated."""
    return config.estimate and not estimates.is_complete(engine, month)


def no_charges(month: Month | None, months: list[Month]) -> TrainfareError:
    do = f"The bills cover {', '.join(map(str, months))}." if months else "Add a bill that has charges."
    return IncompleteError("bill", f"there are no charges for {month}" if month else "there are no charges in it", do)


def _conversion(context: BuildContext, delivered: Sequence[DeliveredFile], booked: BookedRates) -> Conversion:
    """The conversion of other currencies: by the delivered rate tables, and in closed months by the booked rates."""
    rate_tables = {
        file.path: f"SELECT * REPLACE (line + {file.header_lines} AS line) FROM ({file.select(context.reader)})"
        for file in delivered
        if file.is_rate_table
    }
    convert = context.config.convert
    return currencies.prepare(context.reader, convert.to, convert.days, rate_tables, booked.currencies, booked.files)


def _charged_months(engine: Engine) -> list[Month]:
    return [Month.of(day) for (day,) in engine.rows("SELECT DISTINCT month FROM charge_kinds ORDER BY month")]


def _with_estimated_months(
    context: BuildContext, delivered: Sequence[DeliveredFile], charges: LoadedCharges
) -> LoadedCharges:
    """Add the months of jobs after the last bill, if these are to be estimated."""
    if not context.config.estimate or not charges.months:
        return charges
    active = ledgers.active_months(context.reader, [file for file in delivered if file.is_job_log])
    later = {month for month in active if charges.months[-1] < month and month.start < context.as_of}
    return replace(charges, months=sorted({*charges.months, *later}))


def _month_digests(
    context: BuildContext, delivered: Sequence[DeliveredFile], charges: LoadedCharges
) -> dict[tuple[int, Month], str]:
    """Digest each month of the bills that cover several, so that a month is not rebuilt for another one's charges.

    With workers the file counts as a whole: the embedded engine would have to read all of it alone.
    """
    if context.engine is not context.reader:
        return {}
    months = Counter(number for numbers in charges.deliveries_by_month.values() for number in numbers)
    return {
        (file.number, month): digest
        for file in delivered
        if file.is_bill and months[file.number] > 1
        for month, digest in deliveries.month_digests(context.reader, context.config, file).items()
    }
