"""Normalize one month: its machines, attempts, placements and measurements, and estimates of hours without a bill."""

from collections.abc import Sequence

from trainfare.books.context import BuildContext
from trainfare.books.inputs import LoadedCharges, is_estimated
from trainfare.normalize import estimates, facts, given_labels, relevance
from trainfare.period import Month
from trainfare.sources import deliveries
from trainfare.sources.deliveries import DeliveredFile


def normalize_month(
    context: BuildContext,
    charges: LoadedCharges,
    month: Month,
    delivered: Sequence[DeliveredFile],
    others: Sequence[DeliveredFile] = (),
) -> bool:
    """Make the facts of a month from the deliveries that concern it; return whether the month has charges.

    Results of jobs in the job logs among `others` belong to another month.
    """
    engine = context.engine
    context.progress("reading job logs")
    charges.conversion.require_all(month)
    names = context.config.source_names
    rows = {
        kind: deliveries.table_selects(engine.reader, delivered, table, names=names)
        for kind, (_, table) in facts.ROW_VIEWS.items()
    }
    relevance.ingest_other_jobs(
        engine, [file for file in others if rows["quality"] and file.is_job_log and file not in delivered], names
    )
    if is_estimated(engine, context.config, month):
        facts.assign_keys(engine, charges.kinds)  # rates for estimates may come from lines of other months
        rows["prices"] = charges.conversion.convert_prices(rows["prices"], month.start.date(), month.end.date())
        facts.make_month(engine, month, rows, estimates.month_before(engine, month) or month)
        estimates.run(engine, charges.kinds, month, context.as_of)
    else:
        facts.make_month(engine, month, rows)
        estimates.make_empty(engine)
    given_labels.apply(engine, context.config.given_labels)
    facts.assign_keys(engine, charges.kinds, month)
    return bool(engine.row(f"SELECT count(*) FROM charge_kinds WHERE month = DATE '{month}-01'")[0])
