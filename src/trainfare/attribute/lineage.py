"""From shares back to bill lines: the same account, run again, and each pot opened."""

from trainfare.attribute.account import CODES
from trainfare.attribute.weighing import PACKAGE
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted


def open_job(engine: Engine, job_id: str) -> None:
    """Make `job_lines` and `job_spend`: what the job pays a part of, with the pot it was in and what the job weighs there.

    Needs the account of the month in the engine. `job_lines` has bill lines; a cost that is shared by spend goes over
    all payers of the month, and `job_spend` has its pots.
    """
    engine.table(
        "job_slots",
        "SELECT DISTINCT w.target, w.period FROM weights w JOIN attempts a "
        f"ON a.attempt_key = w.piece // 65536 WHERE a.job_id = {quoted(job_id)}",
    )
    only = "JOIN job_slots j ON j.target = k.target AND j.period = s.period"
    engine.step(PACKAGE, "line_parts", "line_parts", {"only": only})
    for step in ("job_lines", "job_spend"):
        engine.step(PACKAGE, step, step, {"job": quoted(job_id)})


def open_line(engine: Engine, delivery: int, line: int) -> None:
    """Make `allocations` of the pots that one bill line is in: every payer's part of it is among them."""
    engine.table(
        "line_slots",
        "SELECT DISTINCT k.target, period_key(c.period_start, c.period_end) AS period FROM keyed_charges c "
        f"JOIN keyed_kinds k ON k.kind = c.kind WHERE c.delivery = {delivery} AND c.line = {line}",
    )
    _open(engine, "JOIN line_slots j ON j.target = k.target AND j.period = s.period")


def open_everything(engine: Engine) -> None:
    """Make `allocations`: every bill line of the month with each payer's part of it, ready for export."""
    _open(engine, "")


def _open(engine: Engine, only: str) -> None:
    engine.step(PACKAGE, "line_parts", "line_parts", {"only": only})
    engine.table(
        "special_keys",
        "SELECT s.channel, s.category, s.code, p.payer_key FROM special_payers s "
        "JOIN payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer AND p.reason = s.reason",
    )
    engine.step(PACKAGE, "allocations", "allocations", CODES)
