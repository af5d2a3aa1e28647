"""From shares back to bill lines: the same account, recomputed or stored, with every payer's part of a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainfare.allocate.account import fits_64_bits
from trainfare.allocate.payer_codes import PayerCode, code_fragments
from trainfare.allocate.weights import PACKAGE
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import no_rows_of, quoted
from trainfare.store import book_views
from trainfare.store.splits import Split, amounts, running_amounts
from trainfare.tables import BASES, CONVERTED

LINE_COLUMNS = (
    *("kind", "delivery", "line", "period_start", "period_end", "effective", "billed", "list", "contracted"),
    *("source", "currency", "charge_category", "service_name", "provider", "account", "region", "resource_id"),
    *("sku_id", "description", "tags", *CONVERTED),
)
"""The columns of a bill line that a stored account has."""
STORED_TABLES = {
    "keyed_charges": (
        f"SELECT {', '.join(f'c.{name}' for name in LINE_COLUMNS)}, k.target AS of_target, "
        "period_key(c.period_start, c.period_end) AS of_period, "
        "k.route AS of_route, k.category AS of_category, k.default_payer AS of_payer "
        "FROM keyed_charges c JOIN kind_routes k ON k.kind = c.kind ORDER BY k.target, of_period"
    ),
    "weights": "SELECT * FROM weights ORDER BY target, period",
    "weight_totals": "SELECT * FROM weight_totals ORDER BY target, period",
    "attempts": "SELECT * FROM attempts ORDER BY job_id, attempt",
    "attempt_targets": (
        "SELECT CAST(payer_day // 65536 AS INTEGER) AS attempt_key, target, min(period) AS first, max(period) AS last "
        f"FROM weights WHERE payer_day // 65536 < {book_views.FIRST_SPECIAL} "
        "GROUP BY payer_day // 65536, target ORDER BY attempt_key"
    ),
    "named_routes": (
        "SELECT route, currency, rule, among, weighed_by, scope, source, origin, account, resource_id FROM named_routes"
    ),
    "job_spend": no_rows_of(PACKAGE, "job_spend", {"job": "''"}),
    **{
        name: f"SELECT * FROM {name}"
        for name in (
            *("kind_routes", "routes", "categories", "rules_in_force", "fixed_parts", "machines"),
            *("special_payers", "payers", "spend_pots", "spend_parts", "spend_weights", "delivered_files"),
        )
    },
}
"""The tables of an account that explain lines and jobs. Rows of one pot are adjacent; `attempt_targets` says where the
weights of an attempt are.
"""
Shares = Sequence[tuple[object, ...]]
_OF_SHARES = {"day": "DATE"} | dict.fromkeys(("route_source", "origin", "account", "rule", "category"), "VARCHAR")
JOB_SHARE_COLUMNS = {"attempt": "INTEGER", "resource_id": "VARCHAR", **_OF_SHARES}
"""What a share of a job states, by which the lines and pots behind it are found."""
UNALLOCATED_SHARE_COLUMNS = {"reason": "VARCHAR", "machine_resource": "VARCHAR", **_OF_SHARES}
"""What an unallocated share states."""
SHARES_AT_ONCE = 1000
_LARGE = {
    "keyed_charges": ("of_target", "of_period"),
    "weights": ("target", "period"),
    "weight_totals": ("target", "period"),
}
"""Tables of which only some pots are read, and the columns that identify a pot."""
_LINES = (
    "SELECT c.delivery, c.line, k.route, k.category, k.target, period_key(c.period_start, c.period_end) AS period, "
    f"{', '.join(f'in_units(coalesce(c.{basis}, 0)) AS {basis}' for basis in BASES)} "
    "FROM keyed_charges c JOIN kind_routes k ON k.kind = c.kind"
)
"""The bill lines of an account in whole units, each with its pot."""
_RATIO = "CAST(1000000000000 AS HUGEINT) AS ratio"


@dataclass(frozen=True)
class Account:
    """A stored account, attached under `alias`: whether its sums fit 64 bits, and whether any pot is split by spend."""

    alias: str
    fits_64_bits: bool
    has_spend: bool


@dataclass(frozen=True)
class _Lines:
    """Bill lines to split: a SELECT, a join that limits them, and whether their sums fit 64 bits."""

    select: str
    only: str = ""
    fits_64_bits: bool = False


def store(engine: DuckDB, path: Path) -> None:
    """Write the engine's account to a new file that explains jobs and lines without another computation."""
    engine.step(PACKAGE, "named_routes", "named_routes")
    engine.run(f"ATTACH {quoted(path)} AS account")
    for name, select in STORED_TABLES.items():
        engine.run(f"CREATE TABLE account.{name} AS {select}")
    spent = "SELECT count(*) > 0 FROM spend_parts"
    # Kinds of charges are known only for the month itself, not for closed months that it adjusts.
    known = "SELECT count(*) FROM kind_routes k ANTI JOIN charge_kinds c ON c.kind = k.kind"
    is_small = fits_64_bits(engine) and not engine.row(known)[0]
    properties = f"SELECT {is_small} AS fits_64_bits, ({spent}) AS has_spend"
    engine.run(f"CREATE TABLE account.properties AS {properties}")
    engine.run("DETACH account")


def attached(engine: DuckDB, alias: str) -> Account:
    """Return the stored account that is attached under this name."""
    return Account(alias, *engine.row(f'SELECT fits_64_bits, has_spend FROM "{alias}".properties'))


def open_stored_job(engine: DuckDB, account: Account, job_id: str, attempts: Sequence[int]) -> None:
    """Make the tables of `open_job`, for these attempts only, from a stored account."""
    alias = account.alias
    _search_in(engine, alias)
    listed = ", ".join(map(str, attempts)) or "NULL"
    own = f"job_id = {quoted(job_id)} AND attempt IN ({listed})"
    engine.table("attempts", f'SELECT * FROM "{alias}".attempts WHERE {own}')
    numbers = ", ".join(str(number) for (number,) in engine.rows("SELECT attempt_key FROM attempts")) or "NULL"
    engine.table(
        "own_periods",
        f'SELECT DISTINCT w.target, w.period FROM "{alias}".weights w JOIN "{alias}".attempt_targets r '
        "ON w.target = r.target AND w.period BETWEEN r.first AND r.last AND w.payer_day // 65536 = r.attempt_key "
        f"WHERE r.attempt_key IN ({numbers})",
    )
    _narrow(engine, alias)
    _split_lines(engine, _stored_lines(account))
    engine.step(PACKAGE, "job_lines", "job_lines", {"job": quoted(job_id)})
    if account.has_spend:
        engine.step(PACKAGE, "job_spend", "job_spend", {"job": quoted(job_id)})


def keep_shares_of_job(engine: DuckDB, shares: Shares) -> None:
    """Keep of `job_lines` and `job_spend` only what is part of these shares, given by `JOB_SHARE_COLUMNS`."""
    _keep_shares(engine, JOB_SHARE_COLUMNS, shares, ("job_lines", "job_spend"))


def keep_unallocated_shares(engine: DuckDB, shares: Shares) -> None:
    """Keep of `unallocated_lines` only what is part of these shares, given by `UNALLOCATED_SHARE_COLUMNS`."""
    _keep_shares(engine, UNALLOCATED_SHARE_COLUMNS, shares, ("unallocated_lines",))


def _keep_shares(engine: DuckDB, types: Mapping[str, str], shares: Shares, tables: Sequence[str]) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
    engine.values("kept_shares", columns, [])
    for first in range(0, len(shares), SHARES_AT_ONCE):
        engine.values("more_shares", columns, shares[first : first + SHARES_AT_ONCE])
        engine.run("INSERT INTO kept_shares SELECT * FROM more_shares")
    same = " AND ".join(f"k.{name} IS NOT DISTINCT FROM x.{name}" for name in types)
    for name in tables:
        engine.table(f"kept_{name}", f"SELECT x.* FROM {name} x SEMI JOIN kept_shares k ON {same}")
        engine.table(name, f"SELECT * FROM kept_{name}")


def open_stored_unallocated(engine: DuckDB, account: Account) -> None:
    """Make `unallocated_lines`: every bill line of a stored account that nobody pays, and why."""
    alias = account.alias
    _search_in(engine, alias)
    given = "SELECT rule FROM fixed_parts WHERE payer = '__unallocated__'"
    routes = f"SELECT route FROM routes WHERE rule IN ({given})"
    own = f"of_payer = {PayerCode.FIXED.value} AND of_route IN ({routes})"
    engine.table("keyed_charges", f'SELECT * FROM "{alias}".keyed_charges WHERE {own}')
    _allocate_lines(engine, _stored_lines(account))
    engine.table(
        "fixed_unallocated",
        "SELECT a.delivery, a.line, k.route, k.category, a.day - DATE '1970-01-01' AS day, a.reason, a.effective, "
        "a.billed, a.list, a.contracted FROM allocations a "
        "JOIN keyed_charges c ON c.delivery = a.delivery AND c.line = a.line JOIN kind_routes k ON k.kind = c.kind "
        "WHERE a.payer_kind = 'unallocated'",
    )
    engine.table("keyed_charges", f'SELECT * FROM "{alias}".keyed_charges')
    engine.step(PACKAGE, "unallocated_lines", "unallocated_lines", code_fragments(PayerCode.SPEND, PayerCode.FIXED))


def _stored_lines(account: Account) -> _Lines:
    """Return what `_LINES` is, for stored lines. Few are opened at a time, so a query that is fast to plan is fast."""
    units = "CAST({} * 1000000000000 AS BIGINT)" if account.fits_64_bits else "in_units({})"
    money = ", ".join(f"{units.format(f'coalesce({basis}, 0)')} AS {basis}" for basis in BASES)
    select = (
        "SELECT delivery, line, of_route AS route, of_category AS category, of_target AS target, of_period AS period, "
        f"{money} FROM keyed_charges"
    )
    return _Lines(select, fits_64_bits=account.fits_64_bits)


def open_stored_line(engine: DuckDB, account: Account, delivery: int, line: int) -> None:
    """Make the tables of `open_line` from a stored account. A payer's part of a line depends only on the line's pot."""
    alias = account.alias
    _search_in(engine, alias)
    of_line = f"delivery = {delivery} AND line = {line}"
    engine.table(
        "own_periods",
        f'SELECT w.target, w.period FROM "{alias}".keyed_charges c '
        f'JOIN "{alias}".weight_totals w ON w.target = c.of_target AND w.period = c.of_period WHERE {of_line}',
    )
    _narrow(engine, alias)
    if not engine.rows("SELECT 1 FROM own_periods"):
        together = f"(of_payer IN ({PayerCode.SPEND.value}, {PayerCode.FIXED.value}) OR ({of_line}))"
        pot = f'SELECT of_route, of_category FROM "{alias}".keyed_charges WHERE {of_line}'
        same = f"(of_route, of_category) IN ({pot}) AND {together}"
        engine.table("keyed_charges", f'SELECT * FROM "{alias}".keyed_charges WHERE {same}')
    paying = "SELECT payer_day // 65536 AS number FROM weights UNION ALL SELECT payer_key FROM spend_weights"
    own = f'SELECT a.* FROM "{alias}".attempts a SEMI JOIN ({paying}) p ON p.number = a.attempt_key'
    engine.table("attempts", own)
    _allocate_lines(engine, _stored_lines(account))


def _search_in(engine: DuckDB, alias: str) -> None:
    """Read every table from the account unless one of that name was made in memory, where the macros are."""
    engine.run(f"""SET search_path = '"{alias}".main,memory.main'""")


def _narrow(engine: DuckDB, alias: str) -> None:
    """Make charges and weights of the pots in `own_periods` only."""
    for name, (target, period) in _LARGE.items():
        same = f"o.target = x.{target} AND o.period = x.{period}"
        engine.table(name, f'SELECT x.* FROM "{alias}".{name} x JOIN own_periods o ON {same}')


def open_job(engine: Engine, job_id: str) -> None:
    """Make `job_lines` and `job_spend`: what the job pays a part of, with the pot and the job's weight in it.

    Needs the account of the month in the engine. `job_lines` has bill lines; a cost that is split by spend involves all
    payers of the month, and `job_spend` has its pots.
    """
    engine.table(
        "job_periods",
        "SELECT DISTINCT w.target, w.period FROM weights w JOIN attempts a "
        f"ON a.attempt_key = w.payer_day // 65536 WHERE a.job_id = {quoted(job_id)}",
    )
    _split_lines(engine, _Lines(_LINES, "JOIN job_periods j ON j.target = l.target AND j.period = l.period"))
    engine.step(PACKAGE, "named_routes", "named_routes")
    for step in ("job_lines", "job_spend"):
        engine.step(PACKAGE, step, step, {"job": quoted(job_id)})


def open_line(engine: Engine, delivery: int, line: int) -> None:
    """Make `allocations` of the pots that one bill line is in, with every payer's part of it."""
    engine.table(
        "line_periods",
        "SELECT DISTINCT k.target, period_key(c.period_start, c.period_end) AS period FROM keyed_charges c "
        f"JOIN kind_routes k ON k.kind = c.kind WHERE c.delivery = {delivery} AND c.line = {line}",
    )
    _allocate_lines(engine, _Lines(_LINES, "JOIN line_periods j ON j.target = l.target AND j.period = l.period"))


def open_everything(engine: Engine) -> None:
    """Make `allocations`: every bill line of the month with each payer's part of it, ready for export."""
    _allocate_lines(engine, _Lines(_LINES))


def _split_lines(engine: Engine, lines: _Lines, with_ratio: bool = False) -> None:
    """Make `line_parts` of these lines, with the ratio of each part if wanted."""
    integer_part = "small_integer_part" if lines.fits_64_bits else "integer_part"
    split = Split(
        pot=("delivery", "line"),
        order=("payer_day",),
        keep=("delivery", "line", "route", "category", "period", "payer_day"),
        amounts=[*running_amounts(BASES, integer_part), *(amounts(["ratio"]) if with_ratio else ())],
    )
    fragments = {
        "lines": lines.select,
        "only": lines.only,
        "running_sums": _running_sums("CAST({} AS BIGINT)" if lines.fits_64_bits else "{}")
        + (f", {_RATIO}" if with_ratio else ""),
        "split": split.select("weighted"),
    }
    engine.step(PACKAGE, "line_parts", "line_parts", fragments)


def _running_sums(cast: str = "{}") -> str:
    return ", ".join(f"{cast.format(f'sum({basis}) OVER pot')} AS {basis}_running" for basis in BASES)


def _allocate_lines(engine: Engine, lines: _Lines) -> None:
    """Make `allocations` of these lines."""
    _split_lines(engine, lines, with_ratio=True)
    engine.table(
        "special_payer_keys",
        "SELECT s.route, s.category, s.code, p.payer_key FROM special_payers s "
        "JOIN payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer AND p.reason = s.reason",
    )
    split = Split(
        pot=("delivery", "line"),
        order=("payer", "payer_key", "coalesce(machine, 0)", "share_day"),
        keep=("delivery", "line", "route", "category", "payer_key", "machine", "share_day"),
        amounts=[*running_amounts(BASES), *amounts(["ratio"])],
    )
    fragments = {"running_sums": _running_sums(), "split": split.select("weighted")}
    codes = code_fragments(PayerCode.SPEND, PayerCode.FIXED)
    engine.step(PACKAGE, "allocations", "allocations", fragments | codes)
