"""The account of one month: which rule takes what, who weighs how much, and every unit given to one payer."""

from trainfare import keyed, scope
from trainfare.attribute import rules
from trainfare.attribute.weighing import IDLE, PACKAGE, SMALL_WEIGHT, Weighing, weigh_all
from trainfare.config import Config, Rule
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import no_rows_of, parquet, quoted, step_text
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.places import Place
from trainfare.tables import BASES

NOBODY, UNALLOCATED, OUTSIDE, SPEND, FIXED = range(IDLE - 1, IDLE - 6, -1)
"""Payers that are not attempts, numbered above all of these."""
SMALL_POT = 9_000_000
"""Money below this has fewer than 2^63 units: SMALL_UNITS."""
SMALL_UNITS = SMALL_POT * 10**12

CODES = {
    "idle": str(IDLE),
    "nobody": str(NOBODY),
    "unallocated": str(UNALLOCATED),
    "outside": str(OUTSIDE),
    "spend": str(SPEND),
    "fixed": str(FIXED),
    "first_special": str(keyed.FIRST_SPECIAL),
}
_TO = {"__idle__": IDLE, "__unallocated__": UNALLOCATED, "__outside__": OUTSIDE}


def run(engine: Engine, config: Config, month: Month, to_open: bool = False) -> None:
    """Make `kept_shares` of the month from the facts, as a view on the parts they consist of, and `shares`, the same with names.

    Only where its figures are `to_open` do weights and slots outlast the sharing: there are more of them than of anything else.
    """
    weigh_all(engine, route(engine, config, month), month)
    _share(engine, to_open)
    _settle(engine, config)


def keep(engine: Engine, month: Month, path: Place) -> None:
    """Write the shares to `path` and audit what was written: they add up to the charges or nothing comes of it."""
    engine.write_parquet("SELECT * FROM kept_shares", path)
    engine.view("kept_shares", f"SELECT * FROM {parquet(path)}")
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    engine.table("shared_by_way", f"SELECT way, {sums} FROM kept_shares GROUP BY way")
    require_balance(engine, month)


def _share(engine: Engine, to_open: bool) -> None:
    """Make `direct_parts`, what each piece has per channel and category: every pot goes whole to its heaviest piece, which hands on the
    others' parts.

    Pots of one scope and period differ only in category, so they share a row with a column for each basis and category.
    """
    numbers = [number for (number,) in engine.rows("SELECT number FROM categories ORDER BY number")]
    columns = [f"{basis}_{number}" for number in numbers for basis in BASES]
    small = is_small(engine)
    units, added_up = ("in_small_units", "small_sum") if small else ("in_units", "sum")
    forming = {
        "units": ", ".join(f"{units}(c.{basis}) AS {basis}" for basis in BASES),
        "sums": ", ".join(
            f"{added_up}(CASE WHEN t.category = {n} THEN t.{basis} END) AS {basis}_{n}"
            for n in numbers
            for basis in BASES
        ),
        "columns": ", ".join(columns),
    }
    engine.step(PACKAGE, "pots", "pots", forming)
    divided = _divisions(engine, columns) if small else dict.fromkeys(columns, "whole_part")
    parts = ", ".join(f"{added_up}({part}(p.{name}, w.weight, p.whole)) AS {name}" for name, part in divided.items())
    engine.step(PACKAGE, "handed_on", "handed_on", {"parts": parts})
    if not to_open:
        engine.drop("weights", "slots")
    settling = {
        "columns": ", ".join(columns),
        "summed": ", ".join(f"{added_up}({name}) AS {name}" for name in columns),
        "handed": ", ".join(f"-{name}" for name in columns),
    }
    engine.step(PACKAGE, "settled", "settled", settling)
    engine.drop("pots", "handed_on")
    amounts = ", ".join(f"as_money(coalesce({basis}_{{0}}, 0)) AS {basis}" for basis in BASES)
    by_category = (
        f"SELECT channel, piece, CAST({n} AS INTEGER) AS category, {amounts.format(n)} "
        f"FROM settled WHERE effective_{n} IS NOT NULL"
        for n in numbers
    )
    engine.table("direct_parts", " UNION ALL ".join(by_category))
    engine.drop("settled")


def is_small(engine: Engine) -> bool:
    """Whether all money fits 64 bits on its way, and the square of every weight: the narrower, the faster, and the digits are the same.

    A piece may have its channel's pots, be given as much, and give as much away.
    """
    per_channel = (
        "SELECT sum(c.most) AS most FROM keyed_kinds k JOIN charge_kinds c ON c.kind = k.kind GROUP BY k.channel"
    )
    most = engine.row(f"SELECT max(most) FROM ({per_channel})")[0] or 0
    return bool(3 * most < SMALL_POT and _largest_weight(engine) < SMALL_WEIGHT)


def _divisions(engine: Engine, columns: list[str]) -> dict[str, str]:
    """How parts of small pots are computed, by column: at once where the product fits 64 bits, too."""
    weight = _largest_weight(engine)
    largest = engine.row(
        f"SELECT {', '.join(f'max(abs({name}))' for name in columns)} FROM pots WHERE whole IS NOT NULL"
    )
    return {
        name: "tiny_whole_part" if (pot or 0) * weight < SMALL_UNITS else "small_whole_part"
        for name, pot in zip(columns, largest, strict=True)
    }


def _largest_weight(engine: Engine) -> int:
    return engine.row("SELECT max(whole) FROM slots")[0] or 0


def require_balance(engine: Engine, month: Month) -> None:
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


def _weighings(in_force: tuple[Rule, ...]) -> dict[int, Weighing]:
    """By the number of the rule, the way each sharing rule weighs; rules by spend or without sharing have none."""
    ways: dict[tuple[str, str, str], Weighing] = {}
    found: dict[int, Weighing] = {}
    for number, rule in enumerate(in_force, 1):
        if rule.among and rule.by != "spend":
            idle = rule.idle or ("keep" if rule.among in ("machine", "cluster") else "spread")
            way = (rule.among, rule.by or "gpu_seconds", idle)
            found[number] = ways.setdefault(way, Weighing(len(ways) + 1, *way))
    return found


def route(engine: Engine, config: Config, month: Month) -> list[Weighing]:
    """Decide for each kind of charge the rule, the scope and who gets it if nobody weighs in; returns the ways to weigh."""
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
                f"WHEN {n} THEN {weighings[n].number if n in weighings else 'NULL'}" for n, _ in numbered
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
    of_machines = [str(weighing.number) for weighing in weighings.values() if weighing.among == "machine"]
    engine.step(PACKAGE, "targets", "targets", {"machine_weighings": ", ".join(["0", *of_machines])})
    for step in ("channels", "keyed_kinds"):
        engine.step(PACKAGE, step, step)
    return list({weighing.number: weighing for weighing in weighings.values()}.values())


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
    return IDLE if rule.among in ("machine", "cluster") else NOBODY


def _settle(engine: Engine, config: Config) -> None:
    """Name the payers, divide what goes in fixed parts and by spend, and make the shares."""
    tags = " ".join(
        f"WHEN p.among = {quoted(f'tag:{key}')} THEN {scope.of_placement(f'tag:{key}')} = p.scope"
        for key in sorted({r.among.removeprefix("tag:") for r in config.rule if r.among.startswith("tag:")})
    )
    for step in ("special_payers", "payers", "spend_pots"):
        engine.step(PACKAGE, step, step, CODES)
    engine.drop("named_parts")
    if engine.row("SELECT count(*) FROM spend_pots")[0]:
        engine.step(PACKAGE, "named_parts", "named_parts", CODES)
        given = CODES | {"tags": tags, "scale": str(_spend_scale(engine))}
        for step in ("spend_weights", "spend_parts"):
            engine.step(PACKAGE, step, step, given)
    else:
        # Read once, when the shares are written, so they need not be kept.
        engine.view("named_parts", step_text(PACKAGE, "named_parts", CODES))
        for step in ("spend_weights", "spend_parts"):
            engine.table(step, no_rows_of(PACKAGE, step, CODES | {"tags": "", "scale": "1"}))
    engine.step(PACKAGE, "ways", "ways")
    engine.view("kept_shares", step_text(PACKAGE, "shares"))
    engine.view("shares", keyed.shares("kept_shares", "ways", "payers", "attempts", "machines"))


def _spend_scale(engine: Engine) -> int:
    """Parts of a currency unit that spend is weighed in: a millionth, or coarser where all of it would not fit 63 bits."""
    spent = "SELECT sum(greatest(n.effective, 0)) AS total FROM named_parts n JOIN channels c ON c.channel = n.channel"
    (most,) = engine.row(f"SELECT coalesce(max(total), 0) FROM ({spent} GROUP BY c.currency)")
    scale: int = 10 ** max(0, min(6, 18 - len(str(int(most)))))
    return scale
