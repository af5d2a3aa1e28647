"""The account of one month: route every charge by its rule, weigh its payers, and allocate every unit to one payer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainfare.allocate import adjustments, phases, rules
from trainfare.allocate.payer_codes import FIRST_SPECIAL_FRAGMENT, PayerCode, code_fragments
from trainfare.allocate.weights import PACKAGE, SMALL_WEIGHT, Weighing, weigh_all
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import no_rows_of, parquet, quoted, step_text
from trainfare.errors import TrainfareError
from trainfare.files.locations import Location
from trainfare.period import Month
from trainfare.settings.config import Config
from trainfare.settings.rules import Rule
from trainfare.store import book_views, scopes
from trainfare.store.splits import Split, amounts
from trainfare.tables import BASES

SMALL_POT = 9_000_000
"""Money below this has fewer than 2^63 units."""
SMALL_UNITS = SMALL_POT * 10**12

_TO = {"__idle__": PayerCode.IDLE, "__unallocated__": PayerCode.UNALLOCATED, "__outside__": PayerCode.OUTSIDE}
_FIXED_SPLIT = Split(
    pot=("route", "category", "day"),
    order=("payer",),
    keep=("route", "category", "payer", "day"),
    amounts=amounts(BASES),
)
_SPEND_SPLIT = Split(
    pot=("route", "category"),
    order=("payer_key", "coalesce(machine, 0)", "day"),
    keep=("route", "category", "payer_key", "machine", "day"),
    amounts=amounts(BASES),
)


def run(engine: Engine, config: Config, month: Month, keep_weights: bool = False, divides_work: bool = False) -> None:
    """Make `stored_shares` of the month from the facts, as a view on its parts, and `shares`, the same with names.

    Weights outnumber everything else, so they are dropped after the split unless `keep_weights` is set, which lineage
    needs. If `divides_work` is set, make `phase_costs` from `work_spans`: what of the shares was lost or overhead.
    """
    adjustments.none(engine)
    weigh_all(engine, route(engine, config, month), month, divides_work)
    phases.separate_pots(engine)
    _split_pots(engine, keep_weights)
    _name_payers(engine, config)


def write_shares(engine: Engine, month: Month, path: Location) -> None:
    """Write the shares to `path` and audit what was written; raise unless they add up to the charges."""
    engine.write_parquet("SELECT * FROM stored_shares", path)
    engine.view("stored_shares", f"SELECT * FROM {parquet(path)}")
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    engine.table("share_kind_totals", f"SELECT share_kind, {sums} FROM stored_shares GROUP BY share_kind")
    require_balance(engine, month)


def require_balance(engine: Engine, month: Month) -> None:
    """Raise if the shares and the charges differ by anything at all."""
    engine.step(PACKAGE, "imbalance", "imbalance", {"month": _first_day(month)})
    for found in engine.records("SELECT * FROM imbalance ORDER BY source, currency LIMIT 1"):
        raise TrainfareError(
            f"book {month}",
            f"the shares of source {found['source']} do not add up to its charges: "
            f"{found['shared_effective']} of {found['effective']} {found['currency']}",
            "Nothing was published. Internal error; please report it with your rules.",
        )


@dataclass(frozen=True)
class _Pots:
    """The columns of pots, one per basis and category, and the functions that add them up and convert them."""

    categories: Sequence[int]
    is_small: bool

    @property
    def columns(self) -> list[str]:
        return [f"{basis}_{number}" for number in self.categories for basis in BASES]

    @property
    def in_units(self) -> str:
        return "in_small_units" if self.is_small else "in_units"

    @property
    def sum(self) -> str:
        return "small_sum" if self.is_small else "sum"


def _split_pots(engine: Engine, keep_weights: bool) -> None:
    """Make `direct_parts`, what each payer and day gets per route and category.

    Pots of one scope and period differ only in category, so they share a row with a column for each basis and category.
    """
    numbers = [number for (number,) in engine.rows("SELECT number FROM categories ORDER BY number")]
    if not numbers:  # a month in which only adjustments are booked
        money = ", ".join(f"{basis} DECIMAL(38,12)" for basis in BASES)
        engine.values("direct_parts", f"route INTEGER, payer_day BIGINT, category INTEGER, {money}", [])
        return
    pots = _Pots(numbers, fits_64_bits(engine))
    columns = ", ".join(pots.columns)
    line_sums = ", ".join(
        f"{pots.sum}(CASE WHEN l.category = {number} THEN l.{basis} END) AS {basis}_{number}"
        for number in pots.categories
        for basis in BASES
    )
    units = ", ".join(f"{pots.in_units}(c.{basis}) AS {basis}" for basis in BASES)
    engine.step(PACKAGE, "pots", "pots", {"units": units, "sums": line_sums, "columns": columns})
    integer_parts = _integer_parts(engine, pots)
    parts = ", ".join(
        f"{pots.sum}({integer_part}(p.{name}, w.weight, p.total_weight)) AS {name}"
        for name, integer_part in integer_parts.items()
    )
    engine.step(PACKAGE, "remainder_transfers", "remainder_transfers", {"parts": parts})
    phases.split_pots(engine, integer_parts, numbers, pots.is_small)
    if not keep_weights:
        engine.drop("weights", "weight_totals")
    sums = ", ".join(f"{pots.sum}({name}) AS {name}" for name in pots.columns)
    negated = ", ".join(f"-{name}" for name in pots.columns)
    engine.step(PACKAGE, "allocated", "allocated", {"columns": columns, "sums": sums, "negated": negated})
    engine.drop("pots", "remainder_transfers")
    engine.table("direct_parts", " UNION ALL ".join(_direct_parts(number) for number in numbers))
    engine.drop("allocated")


def _direct_parts(category: int) -> str:
    money = ", ".join(f"as_money(coalesce({basis}_{category}, 0)) AS {basis}" for basis in BASES)
    return (
        f"SELECT route, payer_day, CAST({category} AS INTEGER) AS category, {money} "
        f"FROM allocated WHERE effective_{category} IS NOT NULL"
    )


def fits_64_bits(engine: Engine) -> bool:
    """Return whether all sums of money, and the square of every weight, fit 64 bits: faster, with the same digits.

    A payer may hold all pots of its route, receive as much again, and give as much away.
    """
    per_route = "SELECT sum(c.most) AS most FROM kind_routes k JOIN charge_kinds c ON c.kind = k.kind GROUP BY k.route"
    most = engine.row(f"SELECT max(most) FROM ({per_route})")[0] or 0
    return bool(3 * most < SMALL_POT and _largest_weight(engine) < SMALL_WEIGHT)


def _integer_parts(engine: Engine, pots: _Pots) -> dict[str, str]:
    """Return the fastest exact integer-part function for each column of the pots."""
    if not pots.is_small:
        return dict.fromkeys(pots.columns, "integer_part")
    weight = _largest_weight(engine)
    largest = engine.row(
        f"SELECT {', '.join(f'max(abs({name}))' for name in pots.columns)} FROM pots WHERE total_weight IS NOT NULL"
    )
    return {
        name: "tiny_integer_part" if (pot or 0) * weight < SMALL_UNITS else "small_integer_part"
        for name, pot in zip(pots.columns, largest, strict=True)
    }


def _largest_weight(engine: Engine) -> int:
    return engine.row("SELECT max(total_weight) FROM weight_totals")[0] or 0


def _first_day(month: Month) -> str:
    return f"DATE '{month}-01'"


def _weighings(in_force: Sequence[Rule]) -> dict[int, Weighing]:
    """Return the weighing of each rule by the rule's number. Rules by spend or without a scope have none."""
    known: dict[tuple[Any, ...], Weighing] = {}
    found: dict[int, Weighing] = {}
    for number, rule in enumerate(in_force, 1):
        if rule.among and rule.by != "spend":
            idle = rule.idle or ("keep" if rule.among in ("machine", "cluster") else "spread")
            terms = (rule.among, rule.by or "gpu_seconds", idle, tuple(sorted(rule.weights.items())))
            found[number] = known.setdefault(terms, Weighing(len(known) + 1, *terms))
    return found


def route(engine: Engine, config: Config, month: Month) -> list[Weighing]:
    """Decide each kind's rule, scope and default payer; return the weighings that the rules need.

    The default payer gets the money if no job held anything.
    """
    in_force = rules.in_force(config)
    weighings = _weighings(in_force)
    _list_rules(engine, in_force)
    engine.step(PACKAGE, "routed_kinds", "routed_kinds", _routing(in_force, weighings, config, month))
    engine.table(
        "categories",
        "SELECT CAST(row_number() OVER (ORDER BY category) AS INTEGER) AS number, category "
        "FROM (SELECT DISTINCT category FROM routed_kinds)",
    )
    by_machine = [str(weighing.number) for weighing in weighings.values() if weighing.among == "machine"]
    engine.step(PACKAGE, "targets", "targets", {"machine_weighings": ", ".join(["0", *by_machine])})
    for step in ("routes", "kind_routes"):
        engine.step(PACKAGE, step, step)
    return list({weighing.number: weighing for weighing in weighings.values()}.values())


def _list_rules(engine: Engine, in_force: Sequence[Rule]) -> None:
    """Make `rules_in_force` and `fixed_parts`."""
    columns = 'rule INTEGER, name VARCHAR, among VARCHAR, "by" VARCHAR, idle VARCHAR, reason VARCHAR, goes_to VARCHAR'
    listed = [(n, r.name, r.among, _by(r), r.idle, r.reason, _goes_to(r)) for n, r in enumerate(in_force, 1)]
    engine.values("rules_in_force", columns, listed)
    parts = [(n, payer, part) for n, r in enumerate(in_force, 1) for payer, part in r.parts.items()]
    engine.values("fixed_parts", "rule INTEGER, payer VARCHAR, part BIGINT", parts)


def _routing(in_force: Sequence[Rule], weighings: dict[int, Weighing], config: Config, month: Month) -> dict[str, str]:
    """Return the fragments of step `routed_kinds`."""
    numbered = list(enumerate(in_force, 1))
    return code_fragments(PayerCode.UNALLOCATED) | {
        "month": _first_day(month),
        "rules": " ".join(f"WHEN {rules.condition(rule, config)} THEN {n}" for n, rule in numbered),
        "scopes": " ".join(f"WHEN {n} THEN {_scope(rule, config)}" for n, rule in numbered),
        "scoped": ", ".join(["0", *(str(n) for n, rule in numbered if rule.among)]),
        "job_rules": ", ".join(["0", *(str(n) for n, rule in numbered if rule.among == "job")]),
        "weighings": " ".join(
            f"WHEN {n} THEN {weighings[n].number if n in weighings else 'NULL'}" for n, _ in numbered
        ),
        "payers": " ".join(f"WHEN {n} THEN {_default_payer(rule).value}" for n, rule in numbered),
    }


def _by(rule: Rule) -> str:
    """Return the allocation basis; weighted resources are listed, as in `9 x gpu + 0.9 x cpu`."""
    return " + ".join(f"{weight} x {name}" for name, weight in rule.weights.items()) or rule.by


def _goes_to(rule: Rule) -> str:
    return rule.to or ", ".join(f"{payer} {part}" for payer, part in rule.parts.items())


def _scope(rule: Rule, config: Config) -> str:
    """Return SQL for the scope that the rule splits a charge within."""
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


def _default_payer(rule: Rule) -> PayerCode:
    if rule.to:
        return _TO[rule.to]
    if rule.parts:
        return PayerCode.FIXED
    if rule.by == "spend":
        return PayerCode.SPEND
    return PayerCode.IDLE if rule.among in ("machine", "cluster") else PayerCode.NOBODY


def _name_payers(engine: Engine, config: Config) -> None:
    """Name the payers, split what goes in fixed parts and by spend, and make the shares."""
    special = code_fragments(PayerCode.IDLE, PayerCode.NOBODY, PayerCode.OUTSIDE, PayerCode.SPEND)
    spend = code_fragments(PayerCode.SPEND)
    engine.step(PACKAGE, "special_payers", "special_payers", special | FIRST_SPECIAL_FRAGMENT)
    engine.step(PACKAGE, "payers", "payers", FIRST_SPECIAL_FRAGMENT)
    engine.step(PACKAGE, "spend_pots", "spend_pots", spend)
    engine.drop("named_parts")
    named = code_fragments(PayerCode.FIXED, PayerCode.SPEND) | FIRST_SPECIAL_FRAGMENT
    named |= {"split": _FIXED_SPLIT.select("weighted")}
    spend_split = spend | {"split": _SPEND_SPLIT.select("weighted")}
    if engine.row("SELECT count(*) FROM spend_pots")[0]:
        engine.step(PACKAGE, "named_parts", "named_parts", named)
        weights = {"tags": _tag_scopes(config), "scale": str(_spend_scale(engine))}
        engine.step(PACKAGE, "spend_weights", "spend_weights", weights | {"parts": "named_parts"})
        engine.step(PACKAGE, "spend_parts", "spend_parts", spend_split)
        phases.split_spend(engine, weights)
    else:
        # Read once, when the shares are written, so no table is needed.
        no_weights = {"tags": "", "scale": "1", "parts": "named_parts"}
        engine.view("named_parts", step_text(PACKAGE, "named_parts", named))
        engine.table("spend_weights", no_rows_of(PACKAGE, "spend_weights", no_weights))
        engine.table("spend_parts", no_rows_of(PACKAGE, "spend_parts", spend_split))
    engine.step(PACKAGE, "share_kinds", "share_kinds")
    engine.view("stored_shares", step_text(PACKAGE, "shares"))
    engine.view("shares", book_views.shares("stored_shares", "share_kinds", "payers", "attempts", "machines"))


def _tag_scopes(config: Config) -> str:
    """Return SQL cases for the scopes of rules that split by spend within a tag."""
    keys = sorted({rule.among.removeprefix("tag:") for rule in config.rule if rule.among.startswith("tag:")})
    return " ".join(
        f"WHEN p.among = {quoted(f'tag:{key}')} THEN {scopes.of_placement(f'tag:{key}')} = p.scope" for key in keys
    )


def _spend_scale(engine: Engine) -> int:
    """Return how many weights a currency unit of spend has: a million, or fewer if all spend would not fit 63 bits."""
    spent = "SELECT sum(greatest(n.effective, 0)) AS total FROM named_parts n JOIN routes r ON r.route = n.route"
    (most,) = engine.row(f"SELECT coalesce(max(total), 0) FROM ({spent} GROUP BY r.currency)")
    scale: int = 10 ** max(0, min(6, 18 - len(str(int(most)))))
    return scale
