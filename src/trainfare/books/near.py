"""What is near a job: the machines that it paid for, and the jobs that held them.

The parts of pots that single machines have depend on nothing else, so such a job can be traced without the rest of the
month. Whoever does so compares the sum of the parts with the book, and takes the whole month if they differ.
"""

from dataclasses import dataclass

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import quoted
from trainfare.period import Month
from trainfare.query.stored import common_tables, stored_table
from trainfare.sources.deliveries import BILLING_MONTH, DeliveredFile
from trainfare.sources.narrowed import narrowed
from trainfare.store import BookFiles
from trainfare.tables import CHARGES, PLACEMENTS, QUALITY, USAGE

HELD_BASES = ("gpu_seconds", "cpu_seconds", "memory", "dominant", "wall_seconds", "evenly")
"""Allocation bases that depend on what was held, not on what was measured or spent."""
MAX_MACHINES = 500
NEAR_JOBS = "near_jobs"
"""The table of the ids of the jobs, as logs may write them."""


@dataclass(frozen=True)
class Near:
    """The resources of the machines that a job paid for. The jobs that held them are in the engine."""

    month: Month
    resources: tuple[str, ...]

    def files(self, delivered: list[DeliveredFile]) -> list[DeliveredFile]:
        """Return the files with only the rows that are near."""
        listed = ", ".join(map(quoted, self.resources))
        conditions = {
            CHARGES.name: f"resource_id IN ({listed}) AND {BILLING_MONTH} = DATE '{self.month}-01'",
            PLACEMENTS.name: f"job_id IN (SELECT job_id FROM {NEAR_JOBS})",
            USAGE.name: "false",
            QUALITY.name: "false",
        }
        return [narrowed(file, conditions) for file in delivered]


def find(engine: DuckDB, book: BookFiles, job_id: str) -> Near | None:
    """Return what is near a job; None if it pays for more than single machines, or not only from the bill as it is.

    Makes the table of the jobs.
    """
    if not {"closed_months", "rules_in_force", "conversions"} <= {*common_tables([book])}:
        return None
    tables = {name: stored_table(book, name) for name in book.files}
    own = f"SELECT attempt_key FROM {tables['book_attempts']} WHERE job_id = {quoted(job_id)}"
    keys = ", ".join(str(key) for (key,) in engine.rows(own)) or "NULL"
    paid = f"SELECT DISTINCT share_kind, machine FROM {tables['shares']} WHERE payer_key IN ({keys})"
    held = ", ".join(map(quoted, HELD_BASES))
    is_simple, changed = engine.row(
        "SELECT coalesce(bool_and(k.origin = 'bill' AND k.converted_from IS NULL AND p.machine IS NOT NULL "
        f"AND r.among = 'machine' AND r.by IN ({held})), false), (SELECT count(*) FROM {tables['closed_months']}) "
        f"+ (SELECT count(*) FROM {tables['estimates']}) FROM ({paid}) p "
        f"JOIN {tables['share_kinds']} k ON k.share_kind = p.share_kind "
        f"LEFT JOIN {tables['rules_in_force']} r ON r.name = k.rule"
    )
    if not is_simple or changed:
        return None
    machines = engine.rows(
        f"SELECT DISTINCT m.machine, m.resource_id FROM ({paid}) p JOIN {tables['book_machines']} m ON m.machine = p.machine"
    )
    if len(machines) > MAX_MACHINES:
        return None
    numbers = ", ".join(str(number) for number, _ in machines)
    holders = f"SELECT attempt_key FROM {tables['book_placements']} WHERE machine IN ({numbers})"
    # A log may know a job without its cluster.
    ids = "unnest([job_id, split_part(job_id, '@', 1), substr(job_id, strpos(job_id, '/') + 1)])"
    engine.table(
        NEAR_JOBS,
        f"SELECT DISTINCT {ids} AS job_id FROM {tables['book_attempts']} WHERE attempt_key IN ({holders}) "
        f"OR attempt_key IN ({keys})",
    )
    return Near(book.month, tuple(resource for _, resource in machines))
