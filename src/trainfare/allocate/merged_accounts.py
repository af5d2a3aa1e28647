"""Several accounts as one, for lineage: that of a month, and those of the closed months it adjusts.

An adjustment is the account of the rebuilt month minus the account of what was booked. The accounts keep their own
numbers, shifted, so that ties are resolved as they were. Charges of a reversed account have negative lines and amounts.
"""

from trainfare.allocate.payer_codes import PayerCode
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import quoted
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.store.book_views import FIRST_SPECIAL
from trainfare.tables import BASES

_SHIFTS = {
    "route": 50_000_000,
    "target": 50_000_000,
    "rule": 100_000,
    "machine": 50_000_000,
    "category": 100,
    "number": 100,
    "attempt_key": 50_000_000,
}
"""By column, how far the numbers of one account are apart from those of the next."""
_TABLES = {
    "kind_routes": ("route", "target", "category"),
    "routes": ("route", "rule", "target", "machine"),
    "weights": ("target",),
    "weight_totals": ("target",),
    "attempts": ("attempt_key",),
    "categories": ("number",),
    "rules_in_force": ("rule",),
    "fixed_parts": ("rule",),
    "machines": ("machine",),
    "special_payers": ("route", "category"),
    "payers": (),
    "spend_pots": ("route", "category"),
    "spend_parts": ("route", "category", "machine"),
    "spend_weights": ("route", "machine"),
    "keyed_charges": (),
}
"""The tables of an account that lineage reads, with their numbers."""
_SIGNED = ("spend_pots", "spend_parts", "keyed_charges")
_WITH_PAYERS = ("payers", "spend_parts", "spend_weights")


def start(engine: DuckDB) -> None:
    """Keep the account in the engine as the first one."""
    _keep(engine, 0, {}, 1)


def keep(engine: DuckDB, number: int, adjusting: str, into: Month, sign: int) -> None:
    """Keep the account in the engine as a further one: sources get the suffix `adjusting`, and `into` is its month."""
    billing = f"TIMESTAMP '{into}-01'"
    source = f"source || {quoted(adjusting)}"
    charges = {"source": source, "billing_start": billing, "billing_end": billing, "line": f"{sign} * line"}
    charges |= {f"original_{basis}": f"{sign} * original_{basis}" for basis in BASES}
    _keep(engine, number, {"keyed_charges": charges, "routes": {"source": source}}, sign)


def _keep(engine: DuckDB, number: int, changes: dict[str, dict[str, str]], sign: int) -> None:
    for table, columns in _TABLES.items():
        _require_room(engine, table, columns, number)
        changed = {column: f"{column} + {number * _SHIFTS[column]}" for column in columns} | changes.get(table, {})
        if table in ("kind_routes", "keyed_charges"):
            changed["kind"] = f"hash(kind, {number})"
        if table in _SIGNED:
            changed |= {basis: f"{sign} * {basis}" for basis in BASES}
        if table == "weights":
            shift = number * _SHIFTS["attempt_key"] * 65536
            changed["payer_day"] = (
                f"CASE WHEN payer_day // 65536 < {FIRST_SPECIAL} THEN payer_day + {shift} ELSE payer_day END"
            )
        if table in _WITH_PAYERS:
            # Payers that are not attempts get their final numbers in `merge`, when all are known.
            changed["payer_key"] = (
                f"CASE WHEN payer_key < {FIRST_SPECIAL} THEN payer_key + {number * _SHIFTS['attempt_key']} "
                f"ELSE payer_key + CAST({number} AS BIGINT) * 4294967296 END"
            )
        replaced = ", ".join(f"{sql} AS {name}" for name, sql in changed.items())
        only = "WHERE kind IN (SELECT kind FROM kind_routes)" if table == "keyed_charges" else ""
        select = f"SELECT * {f'REPLACE ({replaced}) ' if replaced else ''}FROM {table} {only}"
        if number:
            engine.table(f"merged_{table}", f"SELECT * FROM merged_{table} UNION ALL BY NAME {select}")
        else:
            engine.table(f"merged_{table}", select)


def _require_room(engine: DuckDB, table: str, columns: tuple[str, ...], number: int) -> None:
    """Refuse numbers that, shifted, would be those of another account: a trace would then name the wrong payer."""
    for column in columns:
        (largest,) = engine.row(f"SELECT coalesce(max({column}), 0) FROM {table}")
        shift = _SHIFTS[column]
        if largest >= shift or (column == "attempt_key" and number * shift + largest >= FIRST_SPECIAL):
            what = f"it and the closed months it adjusts have too many rows of {table} to be traced together"
            raise TrainfareError("this month", what, "Trace the closed months themselves: trainfare explain --month")


def merge(engine: DuckDB) -> None:
    """Replace the account in the engine by all kept ones together."""
    engine.table(
        "payer_numbers",
        f"SELECT payer_key AS old, CAST({FIRST_SPECIAL} + dense_rank() OVER (ORDER BY payer_kind, payer, reason) "
        "AS INTEGER) AS payer_key FROM merged_payers",
    )
    _drop_unchanged_pots(engine)
    for table in _TABLES:
        merged = f"SELECT * FROM merged_{table}"
        if table in _WITH_PAYERS:
            merged = (
                f"SELECT {'DISTINCT ' if table == 'payers' else ''}m.* REPLACE (CAST(coalesce(n.payer_key, m.payer_key) "
                f"AS INTEGER) AS payer_key) FROM merged_{table} m LEFT JOIN payer_numbers n ON n.old = m.payer_key"
            )
        engine.drop(table)
        engine.table(table, merged)
        engine.drop(f"merged_{table}")
    engine.drop("charges")
    engine.table("charges", "SELECT * EXCLUDE (kind) FROM keyed_charges")


def _drop_unchanged_pots(engine: DuckDB) -> None:
    """Drop the lines of pots that a rebuilt month and what was booked have in common: they cancel out."""
    weights = (
        "SELECT w.target, w.period, sum(CAST(hash(a.job_id, a.attempt, CASE WHEN a.attempt_key IS NULL THEN w.payer_day "
        "ELSE w.payer_day % 65536 END, w.weight) AS HUGEINT)) AS weights FROM merged_weights w "
        "LEFT JOIN merged_attempts a ON a.attempt_key = w.payer_day // 65536 GROUP BY w.target, w.period"
    )
    money = ", ".join(f"abs({basis})" for basis in BASES)
    engine.table(
        "merged_pots",
        "SELECT l.route, l.category, l.period, hash(r.source, r.account, r.billing_account, r.currency, "
        "r.converted_from, r.scope, u.name, g.category, l.default_payer, l.period, l.lines, l.content, w.weights) AS pot, "
        "l.is_reversed FROM (SELECT k.route, k.category, k.target, k.default_payer, "
        "period_key(c.period_start, c.period_end) AS period, bool_or(c.line < 0) AS is_reversed, count(*) AS lines, "
        f"sum(CAST(hash({money}, c.description, c.sku_id, c.resource_id, c.rate) AS HUGEINT)) AS content "
        "FROM merged_keyed_charges c JOIN merged_kind_routes k ON k.kind = c.kind "
        f"WHERE k.default_payer NOT IN ({PayerCode.SPEND.value}, {PayerCode.FIXED.value}) GROUP BY ALL) l "
        "JOIN merged_routes r ON r.route = l.route JOIN merged_rules_in_force u ON u.rule = r.rule "
        f"JOIN merged_categories g ON g.number = l.category LEFT JOIN ({weights}) w "
        "ON w.target = l.target AND w.period = l.period",
    )
    engine.table(
        "merged_keyed_charges",
        "SELECT c.* FROM merged_keyed_charges c JOIN merged_kind_routes k ON k.kind = c.kind "
        "LEFT JOIN (SELECT route, category, period FROM merged_pots SEMI JOIN (SELECT pot FROM merged_pots GROUP BY pot "
        "HAVING count(*) = 2 AND bool_or(is_reversed) AND NOT bool_and(is_reversed)) USING (pot)) p "
        "ON p.route = k.route AND p.category = k.category AND p.period = period_key(c.period_start, c.period_end) "
        "WHERE p.route IS NULL",
    )
    engine.drop("merged_pots")
