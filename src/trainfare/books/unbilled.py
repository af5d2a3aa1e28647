"""Jobs of months without any charges: no book has them, so the build says so."""

from collections.abc import Iterable, Set

from trainfare.books.context import BuildContext
from trainfare.normalize.amortization import ledgers
from trainfare.period import Month
from trainfare.sources.deliveries import DeliveredFile


def report_jobs(context: BuildContext, delivered: Iterable[DeliveredFile], months: Set[Month]) -> None:
    """Give notice of every month without a book in which jobs held machines, with their number."""
    logs = [file for file in delivered if file.is_job_log]
    for month in sorted(ledgers.active_months(context.reader, logs) - months):
        if jobs := _jobs(context, logs, month):
            noun = "1 job ran" if jobs == 1 else f"{jobs:,} jobs ran"
            context.notice(
                f"{month}  {noun}, but no source has charges for this month: no book has them. Add its bill."
            )


def _jobs(context: BuildContext, logs: Iterable[DeliveredFile], month: Month) -> int:
    """Return how many jobs held a machine in the month; one that is still running counts when it started."""
    held = (
        f"started < TIMESTAMP '{month.next()}-01' AND coalesce(ended, started + INTERVAL 1 SECOND) "
        f"> greatest(started, TIMESTAMP '{month}-01')"
    )
    rows = " UNION ALL ".join(f"SELECT job_id FROM ({log.select(context.reader)}) WHERE {held}" for log in logs)
    return int(context.reader.row(f"SELECT count(DISTINCT job_id) FROM ({rows})")[0])
