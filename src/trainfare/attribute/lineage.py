"""From shares back to bill lines: the same account, run again or kept, and each pot opened."""

from collections.abc import Sequence
from pathlib import Path

from trainfare.attribute.account import CODES, FIXED, SPEND
from trainfare.attribute.weighing import PACKAGE
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted
from trainfare.tables import CONVERTED

OF_A_LINE = (
    *("kind", "delivery", "line", "period_start", "period_end", "effective", "billed", "list", "contracted"),
    *("source", "currency", "charge_category", "service_name", "provider", "account", "region", "resource_id"),
    *("sku_id", "description", *CONVERTED),
)
"""What is kept of a bill line."""
KEPT = {
    "keyed_charges": (
        f"SELECT {', '.join(f'c.{name}' for name in OF_A_LINE)}, k.target AS of_target, "
        "period_key(c.period_start, c.period_end) AS of_period, "
        "k.channel AS of_channel, k.category AS of_category, k.default_payer AS of_payer "
        "FROM keyed_charges c JOIN keyed_kinds k ON k.kind = c.kind ORDER BY k.target, of_period"
    ),
    "weights": "SELECT * FROM weights ORDER BY target, period",
    "slots": "SELECT * FROM slots ORDER BY target, period",
    "attempts": "SELECT * FROM attempts ORDER BY job_id, attempt",
    **{
        name: f"SELECT * FROM {name}"
        for name in (
            *("keyed_kinds", "channels", "categories", "rules_in_force", "fixed_parts", "machines"),
            *("special_payers", "payers", "spend_pots", "spend_parts", "spend_weights", "delivered_files"),
        )
    },
}
"""The tables of an account that lines and jobs are explained from. What belongs to one pot stands together."""
_LARGE = {"keyed_charges": ("of_target", "of_period"), "weights": ("target", "period"), "slots": ("target", "period")}
"""Those of which only one pot is read, and their columns that name it."""


def keep(engine: DuckDB, path: Path) -> None:
    """Write the account that is in the engine to a new file, from which jobs and lines can be opened without running it again."""
    engine.run(f"ATTACH {quoted(path)} AS account")
    for name, select in KEPT.items():
        engine.run(f"CREATE TABLE account.{name} AS {select}")
    engine.run("DETACH account")


def open_kept_job(engine: DuckDB, alias: str, job_id: str, attempts: Sequence[int]) -> None:
    """What `open_job` makes, of these attempts alone, from a kept account that is attached under this name."""
    _view_kept(engine, alias)
    listed = ", ".join(map(str, attempts)) or "NULL"
    own = f"job_id = {quoted(job_id)} AND attempt IN ({listed})"
    engine.table("attempts", f'SELECT * FROM "{alias}".attempts WHERE {own}')
    pieces = [
        f"piece BETWEEN {number * 65536} AND {number * 65536 + 65535}"
        for (number,) in engine.rows("SELECT attempt_key FROM attempts")
    ]
    weighed = " OR ".join(pieces) or "false"
    engine.table("own_slots", f'SELECT DISTINCT target, period FROM "{alias}".weights WHERE {weighed}')
    _narrow(engine, alias)
    open_job(engine, job_id)


def open_kept_line(engine: DuckDB, alias: str, delivery: int, line: int) -> None:
    """What `open_line` makes, from a kept account. Nobody's part of a line depends on more than the lines of its pot."""
    _view_kept(engine, alias)
    of_line = f"delivery = {delivery} AND line = {line}"
    engine.table(
        "own_slots",
        f'SELECT s.target, s.period FROM "{alias}".keyed_charges c '
        f'JOIN "{alias}".slots s ON s.target = c.of_target AND s.period = c.of_period WHERE {of_line}',
    )
    _narrow(engine, alias)
    if not engine.rows("SELECT 1 FROM own_slots"):
        together = f"(of_payer IN ({SPEND}, {FIXED}) OR ({of_line}))"
        pot = f'SELECT of_channel, of_category FROM "{alias}".keyed_charges WHERE {of_line}'
        same = f"(of_channel, of_category) IN ({pot}) AND {together}"
        engine.table("keyed_charges", f'SELECT * FROM "{alias}".keyed_charges WHERE {same}')
    paying = "SELECT piece // 65536 AS number FROM weights UNION ALL SELECT payer_key FROM spend_weights"
    own = f'SELECT a.* FROM "{alias}".attempts a SEMI JOIN ({paying}) p ON p.number = a.attempt_key'
    engine.table("attempts", own)
    open_line(engine, delivery, line)


def _view_kept(engine: DuckDB, alias: str) -> None:
    for name in KEPT:
        if name not in (*_LARGE, "attempts"):
            engine.view(name, f'SELECT * FROM "{alias}".{name}')


def _narrow(engine: DuckDB, alias: str) -> None:
    """Make charges, weights and slots of what is in `own_slots` alone, instead of all there are."""
    for name, (target, period) in _LARGE.items():
        same = f"o.target = x.{target} AND o.period = x.{period}"
        engine.table(name, f'SELECT x.* FROM "{alias}".{name} x JOIN own_slots o ON {same}')


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
