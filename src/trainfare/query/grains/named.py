"""The tables of books with names, read from their grains: with only what the viewer may see of them."""

from trainfare.query.grains.opened import Grains
from trainfare.query.stored import QUEUE_COLUMNS
from trainfare.tables import BASES, LABELS


def named_tables(grains: Grains) -> dict[str, str]:
    """Return a SELECT for each table that the grains have all of."""
    return {"shares": _shares(grains), "book_placements": _placements(grains), "book_attempts": _attempts(grains)}


def _shares(grains: Grains) -> str:
    return (
        "SELECT coalesce(p.payer_kind, 'attempt') AS payer_kind, "
        "coalesce(p.payer, t.job_id || '#' || t.attempt) AS payer, t.job_id, t.attempt, x.machine_id, x.resource_id, "
        "s.day, w.category, w.rule, p.reason, w.source, w.origin, w.estimated, w.account, w.currency, "
        f"w.converted_from, {', '.join(f's.{basis}' for basis in BASES)} FROM {grains.table('shares')} s "
        f"JOIN {grains.table('ways_1')} w ON {grains.same('w', 's', 'way')} "
        f"LEFT JOIN {grains.table('payers')} p ON {grains.same('p', 's', 'payer_number')} "
        f"LEFT JOIN {grains.table('attempts')} t ON {grains.same('t', 's', 'attempt_key')} "
        f"LEFT JOIN {grains.table('machines')} x ON {grains.same('x', 's', 'machine')} WHERE w.is_booked"
    )


def _placements(grains: Grains) -> str:
    return (
        "SELECT t.job_id, t.attempt, coalesce(x.machine_id, p.unknown_machine) AS machine_id, x.resource_id, "
        "p.starts, p.ends, p.running, p.gpu_micros, p.billed_starts, p.billed_ends "
        f"FROM {grains.table('placements')} p "
        f"JOIN {grains.table('attempts')} t ON {grains.same('t', 'p', 'attempt_key')} "
        f"LEFT JOIN {grains.table('machines')} x ON {grains.same('x', 'p', 'machine')}"
    )


def _attempts(grains: Grains) -> str:
    columns = [f"t.{name}" for name in ("job_id", "attempt", "state", *QUEUE_COLUMNS)]
    columns += [f"a.{name}" for name in (*LABELS, "labels")]
    sets = f"JOIN {grains.table('sets')} a ON {grains.same('a', 't', _SET)}"
    return f"SELECT {', '.join(columns)} FROM {grains.table('attempts')} t {sets}"


_SET = '"set"'
