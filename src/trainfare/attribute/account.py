"""The account of one month: which rule takes what, who weighs how much, and every unit given to one payer."""

from dataclasses import dataclass
from pathlib import Path

from trainfare.attribute import rules
from trainfare.config import Config, Rule
from trainfare.engine.duckdb import DuckDB, parquet, quoted, step_text
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.tables import BASES, LABELS

PACKAGE = "trainfare.attribute"

IDLE, NOBODY, UNALLOCATED, OUTSIDE, SPEND, FIXED = range(2147483647, 2147483641, -1)
"""Payers that are not attempts, numbered above all of these."""
FIRST_SPECIAL = 2147000000
SECOND = 720_720_000
"""Parts that a second of an unevenly held machine has: every number up to 16 divides it, and so does 1000."""

SMALL_POT = 9_000_000
"""Money below this has fewer than 2^63 units."""
SMALL_WEIGHT = 3_000_000_000
"""The square of a weight below this is below 2^63."""

CODES = {
    "idle": str(IDLE),
    "nobody": str(NOBODY),
    "unallocated": str(UNALLOCATED),
    "outside": str(OUTSIDE),
    "spend": str(SPEND),
    "fixed": str(FIXED),
    "first_special": str(FIRST_SPECIAL),
    "second": str(SECOND),
}
_TO = {"__idle__": IDLE, "__unallocated__": UNALLOCATED, "__outside__": OUTSIDE}

_GPU = "CASE WHEN coalesce(gpu_micros, 0) > 0 OR most_gpus > 0 THEN 'gpu' "
_CPU = "WHEN coalesce(cpu_millis, 0) > 0 OR most_cpus > 0 THEN 'cpu' "
MEASURES = {
    "gpu_seconds": _GPU + _CPU + "ELSE 'wall' END",
    "bytes_sent": _GPU + _CPU + "ELSE 'wall' END",
    "requests": _GPU + _CPU + "ELSE 'wall' END",
    "cpu_seconds": "CASE " + _CPU + "ELSE 'wall' END",
    "memory": "CASE WHEN coalesce(memory_mbs, 0) > 0 OR most_memory > 0 THEN 'memory' ELSE 'wall' END",
    "dominant": "CASE WHEN coalesce(gpu_micros, cpu_millis, memory_mbs) IS NULL THEN 'wall' ELSE 'dominant' END",
    "wall_seconds": "'wall'",
    "evenly": "'wall'",
}
GRIPS = {
    "gpu_seconds": "coalesce(p.gpu_micros, m.gpu_micros, 1000000)",
    "bytes_sent": "coalesce(p.gpu_micros, m.gpu_micros, 1000000)",
    "requests": "coalesce(p.gpu_micros, m.gpu_micros, 1000000)",
    "cpu_seconds": "coalesce(p.cpu_millis, m.cpu_millis, 1000)",
    "memory": "coalesce(p.memory_mbs, m.memory_mbs, 1000)",
    "dominant": (
        "greatest(coalesce(p.gpu_micros * 1000000 // nullif(m.gpu_micros, 0), 0), "
        "coalesce(p.cpu_millis * 1000000 // nullif(m.cpu_millis, 0), 0), "
        "coalesce(p.memory_mbs * 1000000 // nullif(m.memory_mbs, 0), 0))"
    ),
    "wall_seconds": "1",
    "evenly": "1",
}
CAPACITIES = {
    "gpu_seconds": "m.gpu_micros",
    "bytes_sent": "m.gpu_micros",
    "requests": "m.gpu_micros",
    "cpu_seconds": "m.cpu_millis",
    "memory": "m.memory_mbs",
    "dominant": "1000000",
    "wall_seconds": "1",
    "evenly": "1",
}


@dataclass(frozen=True)
class Weighing:
    """One way to weigh payers; rules that agree on it share it."""

    number: int
    among: str
    by: str
    idle: str


def run(engine: DuckDB, config: Config, month: Month) -> None:
    """Make `shares` of the month from the facts, as a view on the parts they consist of."""
    _weigh_all(engine, config, route(engine, config, month))
    _share(engine)
    _settle(engine, config)


def keep(engine: DuckDB, month: Month, path: Path) -> None:
    """Write the shares to `path` and audit what was written: they add up to the charges or nothing comes of it."""
    engine.write_parquet("SELECT * FROM shares", path)
    engine.view("shares", f"SELECT * FROM {parquet(path)}")
    require_balance(engine, month)


def _share(engine: DuckDB) -> None:
    """Make `direct_parts`: give every pot whole to its heaviest piece, and let that hand on the others' parts.

    Pots of one scope and period differ only in category, so they share a row with a column for each basis and category.
    """
    numbers = [number for (number,) in engine.rows("SELECT number FROM categories ORDER BY number")]
    columns = [f"{basis}_{number}" for number in numbers for basis in BASES]
    sums = [f"sum(c.{basis}) FILTER (k.category = {n}) AS {basis}_{n}" for n in numbers for basis in BASES]
    engine.step(PACKAGE, "gathered", "gathered", {"sums": ", ".join(sums)})
    part, width = ("small_whole_part", "BIGINT") if _is_small(engine, columns) else ("whole_part", "HUGEINT")
    handing = {
        "units": ", ".join(f"CAST(in_units(g.{name}) AS {width}) AS {name}" for name in columns),
        "parts": ", ".join(f"sum({part}(p.{name}, w.weight, p.whole)) AS {name}" for name in columns),
    }
    engine.step(PACKAGE, "handed_on", "handed_on", handing)
    amounts = ", ".join(f"coalesce({basis}_{{0}}, 0) AS {basis}" for basis in BASES)
    by_category = (
        f"SELECT channel, piece, CAST({n} AS INTEGER) AS category, {amounts.format(n)} "
        f"FROM settled WHERE effective_{n} IS NOT NULL"
        for n in numbers
    )
    settling = {
        "columns": ", ".join(columns),
        "summed": ", ".join(f"sum({name}) AS {name}" for name in columns),
        "taken": ", ".join(f"as_money({name})" for name in columns),
        "handed": ", ".join(f"-as_money({name})" for name in columns),
        "by_category": " UNION ALL ".join(by_category),
    }
    engine.step(PACKAGE, "direct_parts", "direct_parts", settling)
    engine.drop("gathered", "handed_on")


def _is_small(engine: DuckDB, columns: list[str]) -> bool:
    """Whether every pot and weight is small enough to be divided in 64 bits. The digits are the same either way."""
    largest = ", ".join(f"max(abs({name}))" for name in columns)
    (pot,) = engine.row(f"SELECT greatest({largest}) FROM gathered WHERE period IS NOT NULL")
    (whole,) = engine.row("SELECT max(whole) FROM slots")
    return (pot or 0) < SMALL_POT and (whole or 0) < SMALL_WEIGHT


def require_balance(engine: DuckDB, month: Month) -> None:
    """Refuse an account in which shares and charges differ by anything at all."""
    engine.step(PACKAGE, "imbalance", "imbalance", {"month": _first_day(month)})
    for found in engine.records("SELECT * FROM imbalance ORDER BY source, currency LIMIT 1"):
        raise TrainfareError(
            f"book {month}",
            f"the shares of source {found['source']} do not add up to its charges: "
            f"{found['shared_effective']} of {found['effective']} {found['currency']}",
            "Nothing was published. This is a fault of Trainfare: please report it with your rules.",
        )


def _first_day(month: Month) -> str:
    return f"DATE '{month}-01'"


def _weighings(in_force: tuple[Rule, ...]) -> dict[str, Weighing]:
    """By rule name, the way each sharing rule weighs; rules by spend or without sharing have none."""
    numbers: dict[tuple[str, str, str], Weighing] = {}
    found: dict[str, Weighing] = {}
    for rule in in_force:
        if rule.among and rule.by != "spend":
            idle = rule.idle or ("keep" if rule.among in ("machine", "cluster") else "spread")
            way = (rule.among, rule.by or "gpu_seconds", idle)
            numbers.setdefault(way, Weighing(len(numbers) + 1, *way))
            found[rule.name] = numbers[way]
    return found


def route(engine: DuckDB, config: Config, month: Month) -> dict[str, Weighing]:
    """Decide for each kind of charge the rule, the scope and who gets it if nobody weighs in."""
    in_force = rules.in_force(config)
    weighings = _weighings(in_force)
    columns = 'rule INTEGER, name VARCHAR, among VARCHAR, "by" VARCHAR, idle VARCHAR, reason VARCHAR, goes_to VARCHAR'
    listed = [(n, r.name, r.among, r.by, r.idle, r.reason, _goes_to(r)) for n, r in enumerate(in_force, 1)]
    engine.values("rules_in_force", columns, listed)
    parts = [(n, payer, part) for n, r in enumerate(in_force, 1) for payer, part in r.parts.items()]
    engine.values("fixed_parts", "rule INTEGER, payer VARCHAR, part BIGINT", parts)
    numbered = list(enumerate(in_force, 1))
    engine.step(
        PACKAGE,
        "routed_kinds",
        "routed_kinds",
        {
            "month": _first_day(month),
            "rules": " ".join(f"WHEN {rules.condition(rule, config)} THEN {n}" for n, rule in numbered),
            "scopes": " ".join(f"WHEN {n} THEN {_scope(rule, config)}" for n, rule in numbered),
            "scoped": ", ".join(["0", *(str(n) for n, rule in numbered if rule.among)]),
            "weighings": " ".join(
                f"WHEN {n} THEN {weighings[r.name].number if r.name in weighings else 'NULL'}" for n, r in numbered
            ),
            "payers": " ".join(f"WHEN {n} THEN {_default_payer(rule)}" for n, rule in numbered),
            "unallocated": str(UNALLOCATED),
        },
    )
    engine.table(
        "categories",
        "SELECT CAST(row_number() OVER (ORDER BY category) AS INTEGER) AS number, category "
        "FROM (SELECT DISTINCT category FROM routed_kinds)",
    )
    for step in ("targets", "channels", "keyed_kinds"):
        engine.step(PACKAGE, step, step)
    return weighings


def _goes_to(rule: Rule) -> str:
    return rule.to or ", ".join(f"{payer} {part}" for payer, part in rule.parts.items())


def _scope(rule: Rule, config: Config) -> str:
    """SQL for what the rule shares a charge within."""
    if rule.among.startswith("tag:"):
        return rules.tag_value(rule.among.removeprefix("tag:"), config)
    return {
        "": "CAST(NULL AS VARCHAR)",
        "machine": "CASE WHEN machine IS NOT NULL THEN resource_id END",
        "cluster": f"coalesce(machine_cluster, {rules.tag_value('cluster', config)})",
        "account": "account",
        "region": "region",
        "job": rules.tag_value("job", config),
        "all": "'all'",
    }[rule.among]


def _default_payer(rule: Rule) -> int:
    if rule.to:
        return _TO[rule.to]
    if rule.parts:
        return FIXED
    if rule.by == "spend":
        return SPEND
    return IDLE if rule.among == "machine" else NOBODY


def _weigh_all(engine: DuckDB, config: Config, weighings: dict[str, Weighing]) -> None:
    """Make `weights`: what each payer weighs, per target, period and day."""
    first, last = engine.row("SELECT coalesce(min(first_second), 0), coalesce(max(last_second), 1) FROM targets")
    engine.step(PACKAGE, "periods", "periods", {"first_second": str(first), "last_second": str(last)})
    engine.run("CREATE OR REPLACE TEMP TABLE weights (target INTEGER, period BIGINT, piece BIGINT, weight BIGINT)")
    engine.run(
        "CREATE OR REPLACE TEMP TABLE slots (target INTEGER, period BIGINT, whole BIGINT, pieces BIGINT, heaviest BIGINT)"
    )
    engine.run(
        "CREATE OR REPLACE TEMP TABLE capacities (target INTEGER, capacity BIGINT, existed_from BIGINT, existed_to BIGINT)"
    )
    engine.run(
        "CREATE OR REPLACE TEMP TABLE beyond_capacity "
        "(machine INTEGER, starts BIGINT, ends BIGINT, held BIGINT, capacity BIGINT, measure VARCHAR)"
    )
    for weighing in {w.number: w for w in weighings.values()}.values():
        window = engine.row(
            "SELECT count(*), min(first_second), max(last_second), min(shortest), max(longest) "
            f"FROM targets WHERE weighing = {weighing.number}"
        )
        if window[0]:
            names = ("first_second", "last_second", "shortest", "longest")
            _weigh(engine, config, weighing, {name: str(value) for name, value in zip(names, window[1:], strict=True)})


def _weigh(engine: DuckDB, config: Config, weighing: Weighing, window: dict[str, str]) -> None:
    """Add the weights of one weighing."""
    given = CODES | window | {"weighing": str(weighing.number)}
    if weighing.among == "machine":
        _hold_machines(engine, weighing, given)
    else:
        _hold_scopes(engine, config, weighing, given)
    for step in ("period_cells", "held", "days"):
        engine.step(PACKAGE, step, step, given)
    if weighing.by == "evenly":
        engine.table(
            "held",
            "SELECT target, period, min(piece) AS piece, 1 AS weight FROM held GROUP BY target, period, piece // 65536",
        )
    if weighing.among == "job":
        _whole_month_where_nothing_was_held(engine, given)
    # What a job held at any time may lie on other days than the charge that names it.
    long = "true" if weighing.among == "job" else "d.long"
    engine.step(PACKAGE, "slot_days", "slot_days", given | _idle(weighing) | {"long": long})
    engine.step(PACKAGE, "slots", "new_slots", given)
    engine.run("INSERT INTO slots SELECT * FROM new_slots")
    engine.run("INSERT INTO weights SELECT target, period, piece, weight FROM held")
    engine.run(
        f"INSERT INTO weights SELECT target, period, CAST({IDLE} AS BIGINT) * 65536 + day, idle FROM slot_days WHERE idle > 0"
    )
    engine.drop("holds", "timeline", "cells", "period_cells", "held", "slot_days", "new_slots")


def _idle(weighing: Weighing) -> dict[str, str]:
    """SQL for what nobody held on a day: the capacity of that day less what was held."""
    if weighing.among not in ("machine", "cluster") or weighing.idle == "spread" or weighing.by == "evenly":
        return {"idle_weight": "CAST(0 AS BIGINT)", "capacity": "", "idle_kept": "which the rule spreads"}
    there = "c.capacity * greatest(least(d.ends, c.existed_to) - greatest(d.starts, c.existed_from), 0)"
    if weighing.among == "machine":
        idle = f"CAST(greatest({there} - w.held, 0) AS BIGINT)"
        return {
            "idle_weight": idle,
            "capacity": "JOIN capacities c ON c.target = w.target",
            "idle_kept": "which is a payer",
        }
    whole = (
        f"JOIN (SELECT c.target, d.period, d.day, sum({there}) AS capacity FROM capacities c, days d GROUP BY ALL) c "
        "ON c.target = w.target AND c.period = w.period AND c.day = w.day"
    )
    return {
        "idle_weight": "CAST(greatest(c.capacity - w.held, 0) AS BIGINT)",
        "capacity": whole,
        "idle_kept": "which is a payer",
    }


def _hold_machines(engine: DuckDB, weighing: Weighing, given: dict[str, str]) -> None:
    engine.step(PACKAGE, "sizes", "sizes", given | {"measure": MEASURES[weighing.by]})
    engine.step(PACKAGE, "machine_holds", "holds", given)
    engine.step(PACKAGE, "timeline", "timeline")
    engine.step(PACKAGE, "uneven", "uneven")
    engine.step(PACKAGE, "machine_capacities", "capacities", given)
    engine.run(
        "INSERT INTO beyond_capacity SELECT s.machine, t.starts, t.ends, t.held * s.unit, s.capacity * s.unit, s.measure FROM timeline t "
        "JOIN sizes s ON s.target = t.target WHERE t.held > s.capacity"
    )
    if not engine.row("SELECT count(*) FROM uneven")[0]:
        engine.step(PACKAGE, "even_cells", "cells", {"only": ""})
        return
    engine.step(PACKAGE, "even_cells", "cells_to_cut", {"only": "AND target IN (SELECT target FROM uneven)"})
    engine.step(PACKAGE, "even_cells", "cells", {"only": "AND target NOT IN (SELECT target FROM uneven)"})
    engine.step(PACKAGE, "uneven_cells", "cut_cells", given)
    engine.run("INSERT INTO cells SELECT target, attempt_key, grip, hour, starts, ends FROM cut_cells")


def _hold_scopes(engine: DuckDB, config: Config, weighing: Weighing, given: dict[str, str]) -> None:
    scope = payer_scope(weighing.among)
    engine.step(PACKAGE, "scope_holds", "holds", given | {"scope": scope, "grip": GRIPS[weighing.by]})
    if weighing.by in ("wall_seconds", "evenly"):
        engine.step(PACKAGE, "merged_holds", "merged")
        engine.table("holds", "SELECT * FROM merged")
    else:
        # A scope in which nobody held any of the measure is weighed by time, so that CPU-only jobs pay their own way.
        engine.run("UPDATE holds SET grip = 1 WHERE target NOT IN (SELECT target FROM holds WHERE grip > 0)")
    if weighing.among == "cluster":
        engine.step(PACKAGE, "cluster_capacities", "capacities", given | {"capacity": CAPACITIES[weighing.by]})
    else:
        engine.run("DELETE FROM capacities")
    engine.step(PACKAGE, "even_cells", "cells", {"only": ""})


def payer_scope(among: str) -> str:
    """SQL for the scope a placement belongs to."""
    if among.startswith("tag:"):
        key = among.removeprefix("tag:")
        label = (
            f"a.{key}" if key in LABELS else f"json_extract_string(a.labels, {quoted(f'$.{chr(34)}{key}{chr(34)}')})"
        )
        return f"lower({label})"
    return {
        "cluster": "lower(m.cluster)",
        "account": "lower(m.account)",
        "region": "lower(m.region)",
        "job": "lower(a.job_id)",
        "all": "'all'",
    }[among]


def _whole_month_where_nothing_was_held(engine: DuckDB, given: dict[str, str]) -> None:
    """A charge that names a job which held nothing in its time is shared by what the job held at any time."""
    engine.table(
        "at_any_time",
        "SELECT target, CAST(attempt_key AS BIGINT) * 65536 + hour // 24 AS piece, CAST(sum((ends - starts) * grip) AS BIGINT) AS weight "
        "FROM cells GROUP BY target, CAST(attempt_key AS BIGINT) * 65536 + hour // 24",
    )
    engine.run(
        "INSERT INTO held SELECT q.target, q.period, a.piece, a.weight FROM ("
        "SELECT DISTINCT k.target, period_key(c.period_start, c.period_end) AS period FROM keyed_charges c "
        "JOIN keyed_kinds k ON k.kind = c.kind "
        f"JOIN targets t ON t.target = k.target AND t.weighing = {given['weighing']}"
        ") q JOIN at_any_time a ON a.target = q.target "
        "WHERE NOT EXISTS (SELECT 1 FROM held h WHERE h.target = q.target AND h.period = q.period)"
    )


def _settle(engine: DuckDB, config: Config) -> None:
    """Name the payers, divide what goes in fixed parts and by spend, and make `shares`."""
    tags = " ".join(
        f"WHEN p.among = {quoted(f'tag:{key}')} THEN {payer_scope(f'tag:{key}')} = p.scope"
        for key in sorted({r.among.removeprefix("tag:") for r in config.rule if r.among.startswith("tag:")})
    )
    for step in ("special_payers", "payers", "named_parts", "spend_pots", "spend_weights", "spend_parts"):
        engine.step(PACKAGE, step, step, CODES | {"tags": tags})
    engine.view("shares", step_text(PACKAGE, "shares"))
