"""From shares back to bill lines: the same account, run again or kept, and each pot opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainfare import keyed
from trainfare.attribute.account import CODES, FIXED, SPEND, is_small
from trainfare.attribute.weighing import PACKAGE
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import no_rows_of, quoted
from trainfare.tables import BASES, CONVERTED

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
    "reach": (
        "SELECT CAST(piece // 65536 AS INTEGER) AS attempt_key, target, min(period) AS first, max(period) AS last FROM weights "
        f"WHERE piece // 65536 < {keyed.FIRST_SPECIAL} GROUP BY piece // 65536, target ORDER BY attempt_key"
    ),
    "job_spend": no_rows_of(PACKAGE, "job_spend", {"job": "''"}),
    **{
        name: f"SELECT * FROM {name}"
        for name in (
            *("keyed_kinds", "channels", "named_channels", "categories", "rules_in_force", "fixed_parts", "machines"),
            *("special_payers", "payers", "spend_pots", "spend_parts", "spend_weights", "delivered_files"),
        )
    },
}
"""The tables of an account that lines and jobs are explained from. What belongs to one pot stands together; `reach` tells where an
attempt is found among the weights.
"""
_LARGE = {"keyed_charges": ("of_target", "of_period"), "weights": ("target", "period"), "slots": ("target", "period")}
"""Those of which only one pot is read, and their columns that name it."""
_LINES = (
    "SELECT c.delivery, c.line, k.channel, k.category, k.target, period_key(c.period_start, c.period_end) AS period, "
    f"{', '.join(f'in_units(coalesce(c.{basis}, 0)) AS {basis}' for basis in BASES)} "
    "FROM keyed_charges c JOIN keyed_kinds k ON k.kind = c.kind"
)
"""The bill lines of an account in whole units, each with its pot."""


@dataclass(frozen=True)
class Account:
    """A kept account that is attached under this name: whether its money fits 64 bits on its way, and whether any is shared by spend."""

    alias: str
    is_small: bool
    has_spend: bool


def keep(engine: DuckDB, path: Path) -> None:
    """Write the account that is in the engine to a new file, from which jobs and lines can be opened without running it again."""
    engine.step(PACKAGE, "named_channels", "named_channels")
    engine.run(f"ATTACH {quoted(path)} AS account")
    for name, select in KEPT.items():
        engine.run(f"CREATE TABLE account.{name} AS {select}")
    spent = "SELECT count(*) > 0 FROM spend_parts"
    engine.run(f"CREATE TABLE account.nature AS SELECT {is_small(engine)} AS is_small, ({spent}) AS has_spend")
    engine.run("DETACH account")


def attached(engine: DuckDB, alias: str) -> Account:
    """The kept account that is attached under this name."""
    return Account(alias, *engine.row(f'SELECT is_small, has_spend FROM "{alias}".nature'))


def open_kept_job(engine: DuckDB, account: Account, job_id: str, attempts: Sequence[int]) -> None:
    """What `open_job` makes, of these attempts alone, from a kept account."""
    alias = account.alias
    _look_in(engine, alias)
    listed = ", ".join(map(str, attempts)) or "NULL"
    own = f"job_id = {quoted(job_id)} AND attempt IN ({listed})"
    engine.table("attempts", f'SELECT * FROM "{alias}".attempts WHERE {own}')
    numbers = ", ".join(str(number) for (number,) in engine.rows("SELECT attempt_key FROM attempts")) or "NULL"
    engine.table(
        "own_slots",
        f'SELECT DISTINCT w.target, w.period FROM "{alias}".weights w JOIN "{alias}".reach r ON w.target = r.target '
        "AND w.period BETWEEN r.first AND r.last AND w.piece // 65536 = r.attempt_key "
        f"WHERE r.attempt_key IN ({numbers})",
    )
    _narrow(engine, alias)
    _part_lines(engine, _kept_lines(account), "", account.is_small)
    engine.step(PACKAGE, "job_lines", "job_lines", {"job": quoted(job_id)})
    if account.has_spend:
        engine.step(PACKAGE, "job_spend", "job_spend", {"job": quoted(job_id)})


def _kept_lines(account: Account) -> str:
    """What `_LINES` is, of kept lines: few of them are opened at a time, so what is quick to plan is quick."""
    units = "CAST({} * 1000000000000 AS BIGINT)" if account.is_small else "in_units({})"
    return (
        "SELECT delivery, line, of_channel AS channel, of_category AS category, of_target AS target, of_period AS period, "
        + ", ".join(f"{units.format(f'coalesce({basis}, 0)')} AS {basis}" for basis in BASES)
        + " FROM keyed_charges"
    )


def open_kept_line(engine: DuckDB, account: Account, delivery: int, line: int) -> None:
    """What `open_line` makes, from a kept account. Nobody's part of a line depends on more than the lines of its pot."""
    alias = account.alias
    _look_in(engine, alias)
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
    _part_lines(engine, _kept_lines(account), "", account.is_small)
    _allocate(engine)


def _look_in(engine: DuckDB, alias: str) -> None:
    """Take every table from the account, unless one of that name was made beside it. Macros are in memory."""
    engine.run(f"""SET search_path = '"{alias}".main,memory.main'""")


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
    _part_lines(engine, _LINES, "JOIN job_slots j ON j.target = l.target AND j.period = l.period")
    for step in ("named_channels", "job_lines", "job_spend"):
        engine.step(PACKAGE, step, step, {"job": quoted(job_id)})


def open_line(engine: Engine, delivery: int, line: int) -> None:
    """Make `allocations` of the pots that one bill line is in: every payer's part of it is among them."""
    engine.table(
        "line_slots",
        "SELECT DISTINCT k.target, period_key(c.period_start, c.period_end) AS period FROM keyed_charges c "
        f"JOIN keyed_kinds k ON k.kind = c.kind WHERE c.delivery = {delivery} AND c.line = {line}",
    )
    _part_lines(engine, _LINES, "JOIN line_slots j ON j.target = l.target AND j.period = l.period")
    _allocate(engine)


def open_everything(engine: Engine) -> None:
    """Make `allocations`: every bill line of the month with each payer's part of it, ready for export."""
    _part_lines(engine, _LINES, "")
    _allocate(engine)


def _part_lines(engine: Engine, lines: str, only: str, small: bool = False) -> None:
    """Make `line_parts` of these lines, or of those of them that `only` joins; `small` ones fit 64 bits on their way."""
    summed = "CAST(sum({}) OVER pot AS BIGINT)" if small else "sum({}) OVER pot"
    part = "small_whole_part" if small else "whole_part"
    given = {
        "lines": lines,
        "only": only,
        "upto": ", ".join(f"{summed.format(basis)} AS {basis}_upto" for basis in BASES),
        "parts": ", ".join(
            f"{part}(r.{basis}_upto, w.weight, r.whole) - {part}(r.{basis}_upto - r.{basis}, w.weight, r.whole) AS {basis}"
            for basis in BASES
        ),
    }
    engine.step(PACKAGE, "line_parts", "line_parts", given)


def _allocate(engine: Engine) -> None:
    engine.table(
        "special_keys",
        "SELECT s.channel, s.category, s.code, p.payer_key FROM special_payers s "
        "JOIN payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer AND p.reason = s.reason",
    )
    engine.step(PACKAGE, "allocations", "allocations", CODES)
