"""The flow on one page: read the sources, normalize, allocate, check the balance, measure, find problems, publish."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from trainfare.allocate import account, adjustments
from trainfare.books import given_labels, restate, tables, unbilled, withdraw
from trainfare.books.context import BuildContext, Progress, no_progress
from trainfare.books.inputs import Inputs, load_charges, no_charges, read_inputs
from trainfare.books.month import normalize_month
from trainfare.books.tables import BookDraft
from trainfare.engine import choice
from trainfare.measures import lost_work
from trainfare.normalize.amortization import ledgers
from trainfare.period import Month
from trainfare.query.grains import parts
from trainfare.settings.config import Config
from trainfare.store import Book, Store


@dataclass(frozen=True)
class BuildResult:
    """The outcome of a build for one month: a new version, or the current one if nothing changed."""

    book: Book
    is_new: bool
    is_restored: bool = False
    """Whether files of the current version were missing or damaged, so that it was built again."""
    is_upgraded: bool = False
    """Whether an older Trainfare built the current version, which may be the only difference."""


def build_books(
    config: Config,
    store: Store,
    only: Month | None = None,
    progress: Progress = no_progress,
    as_of: datetime | None = None,
    notice: Progress = no_progress,
) -> list[BuildResult]:
    """Read the sources and publish a new version of every open month that changed, each completely or not at all.

    Ledgers are amortized up to `as_of`, by default the last full hour. `notice` is called for what no book shows.
    """
    lake, engine_settings = store.lake, msgspec.structs.asdict(config.engine)
    with lake.building() as build_id, choice.open_engine(lake.scratch_path(build_id), **engine_settings) as engine:
        context = BuildContext(engine, config, as_of or ledgers.last_full_hour(), progress, notice)
        # Look up the current versions before reading: a build that publishes in the meantime saw newer files, and wins.
        current = {month: store.catalog.latest(month) for month in store.catalog.months()}
        inputs = read_inputs(context, store, build_id)
        months = sorted({*inputs.months, *withdraw.candidates(current, inputs.months)})
        unbilled.report_jobs(context, inputs.delivered, {*months, *current})
        if only and only not in months:
            raise no_charges(only, inputs.charges.months)
        results = [
            _build_month(context, inputs, BookDraft(store, build_id, month, current.get(month)))
            for month in months
            if only in (None, month) and not store.catalog.closing(month)
        ]
    store.sweep()
    found = [result for result in results if result]
    for result in found:
        if result.is_new:
            progress(f"adding up {result.book.month}")
            parts.make_built(store, result.book)
    return found


def _build_month(context: BuildContext, inputs: Inputs, draft: BookDraft) -> BuildResult | None:
    """Publish the next version of a month, unless its inputs are those of the current version.

    Return None if the month has no charges: nothing was billed, and no price is known for an estimate. If the current
    version never rested on a bill of the month, a version without charges withdraws it.
    """
    month, current = draft.month, draft.current
    files = inputs.charges.relevant(context.engine, inputs.delivered, month)
    context = given_labels.of_month(context, draft.store, files)
    fingerprint = inputs.fingerprint(context, month, files)
    unusable = inputs.unusable_files_of(current)
    if current and current.inputs_sha256 == fingerprint and not unusable:
        return BuildResult(current, is_new=False)

    charges = inputs.charges
    if restate.run(context, draft.store, inputs.closed_into(month), draft.stated_before()):
        charges = load_charges(context, inputs.delivered)  # rebuilt months have replaced them
    has_charges = normalize_month(context, charges, month, files, inputs.delivered)
    if not has_charges and not restate.has_shares(context.engine):
        book = withdraw.withdraw(context, inputs, draft, fingerprint)
        return BuildResult(book, is_new=book is not current) if book else None

    context.progress(f"allocating {month}")
    lost_work.find_spans(context.engine)
    account.run(context.engine, context.config, month, divides_work=True)
    adjustments.add(context.engine)
    account.write_shares(context.engine, month, draft.files["shares"])  # requires that they equal the charges
    tables.make_settings(context, inputs.charges.recorded_as_of)
    previous = draft.previous_files(inputs.unusable)
    complete_through = tables.measure(context.engine, month, previous, labels=context.config.labels)

    context.progress(f"writing {month}")
    tables.write(context.engine, draft.files)
    book = draft.publish(context.engine, inputs, fingerprint, complete_through)
    return BuildResult(
        book, is_new=True, is_restored=bool(unusable), is_upgraded=tables.has_older_version(context.reader, previous)
    )
