"""Divide what attempts pay by the phases of their time: kept work, or lost or overhead, where and when it was held.

A phase is a key of the weight. An attempt's share of a pot is split across its phases by these weights, with the same
rule that splits the pot, so the shares themselves are the same with and without phases.
"""

from collections.abc import Iterable, Mapping

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import step_text
from trainfare.period import Month
from trainfare.tables import BASES, MONEY, PHASES

PACKAGE = "trainfare.allocate"
NUMBERS = range(1, len(PHASES) + 1)
WEIGHTS = tuple(f"w{number}" for number in (0, *NUMBERS))
"""The columns of phase weights; 0 is kept work."""
COST_KEYS = ("share_kind", "attempt_key", "machine", "day")

_HOURS = "attempt_key INTEGER, phase INTEGER, hour BIGINT, starts BIGINT, ends BIGINT"
_HELD = "target INTEGER, period BIGINT, payer_day BIGINT, phase INTEGER, weight BIGINT"
_WEIGHTS = (
    f"target INTEGER, period BIGINT, payer_day BIGINT, weight BIGINT, {', '.join(f'{w} BIGINT' for w in WEIGHTS)}"
)
_COSTS = "share_kind INTEGER, attempt_key INTEGER, machine INTEGER, day INTEGER, phase INTEGER, " + ", ".join(
    f"{basis} {MONEY}" for basis in BASES
)


def prepare(engine: Engine, month: Month, charged: tuple[int, int], are_wanted: bool) -> None:
    """Make `phase_hours` of the month and of the time that charges cover, without rows if phases are not wanted."""
    if are_wanted:
        first_second = min(charged[0], int(month.start.timestamp()))
        last_second = max(charged[1], int(month.end.timestamp()))
        bounds = {"first_second": str(first_second), "last_second": str(last_second)}
        engine.step(PACKAGE, "phase_hours", "phase_hours", bounds)
    else:
        engine.values("phase_hours", _HOURS, [])
    engine.values("phase_weights", _WEIGHTS, [])


def exist(engine: Engine) -> bool:
    """Return whether what any attempt pays has to be divided."""
    return bool(engine.row("SELECT count(*) FROM phase_hours")[0])


def hold(engine: Engine, hours: str, only: str = "") -> None:
    """Add to `held_phases` what step `held` counts in these hours under this condition."""
    if not exist(engine):
        return
    if hours == "hold_hours":
        # Cutting only the holds of divided attempts into hours is far less than cutting all.
        divided = "(SELECT * FROM holds WHERE attempt_key IN (SELECT attempt_key FROM phase_hours))"
        hours = f"({step_text(PACKAGE, 'hold_hours', {'holds': divided})})"
    engine.step(PACKAGE, "phase_held", "phase_held", {"hours": hours, "only": only})
    engine.move("phase_held", "held_phases")


def begin_weighing(engine: Engine) -> None:
    """Make `held_phases`, which the steps of one weighing fill."""
    engine.values("held_phases", _HELD, [])


def hold_clusters(engine: Engine) -> None:
    """Add up the phases that were held of the machines in `sizes` to those of their clusters."""
    if exist(engine):
        engine.table(
            "held_phases",
            "SELECT s.cluster AS target, h.period, h.payer_day, h.phase, CAST(sum(h.weight) AS BIGINT) AS weight "
            "FROM held_phases h JOIN sizes s ON s.target = h.target "
            "GROUP BY s.cluster, h.period, h.payer_day, h.phase",
        )


def replace_by_measurements(engine: Engine) -> None:
    """Replace what was held by measured use in every pot of `measured_periods`."""
    if exist(engine):
        is_measured = "EXISTS (SELECT 1 FROM measured_periods s WHERE s.target = h.target AND s.period = h.period)"
        engine.step(PACKAGE, "phase_measured", "phase_measured")
        columns = "target, period, payer_day, phase, weight"
        engine.table(
            "held_phases",
            f"SELECT {columns} FROM held_phases h WHERE NOT {is_measured} "
            f"UNION ALL SELECT {columns} FROM phase_measured",
        )
        engine.drop("phase_measured")


def weigh(engine: Engine, is_even: bool) -> None:
    """Add the weights of one weighing to `phase_weights`. Where every attempt counts once, all its days do together."""
    if not exist(engine):
        return
    fragments = _pivot() | {
        "known_phases": ", ".join(f"coalesce(f.w{n}, 0) AS w{n}" for n in NUMBERS),
        "sums": ", ".join(f"CAST(sum(w{n}) AS BIGINT) AS w{n}" for n in NUMBERS),
        "weight": "1" if is_even else "sum(weight)",
        "payer": "payer_day // 65536" if is_even else "payer_day",
    }
    engine.step(PACKAGE, "phase_weights", "weighing_phases", fragments)
    engine.move("weighing_phases", "phase_weights")


def weigh_month(engine: Engine, first_hour: int, last_hour: int) -> None:
    """Add the weights of `unheld_pots`, in which what was held in the entire month counts."""
    if not exist(engine):
        return
    payer_day = "CAST(h.attempt_key AS BIGINT) * 65536 + h.hour // 24"
    held = (
        f"SELECT h.target, {payer_day} AS payer_day, f.phase, "
        "(least(h.ends, f.ends) - greatest(h.starts, f.starts)) * h.held_amount AS weight "
        "FROM hold_hours h JOIN phase_hours f ON f.attempt_key = h.attempt_key AND f.hour = h.hour "
        f"WHERE h.hour >= {first_hour} AND h.hour < {last_hour} AND least(h.ends, f.ends) > greatest(h.starts, f.starts)"
    )
    phases = f"SELECT target, payer_day, {_pivot()['phases']} FROM ({held}) GROUP BY target, payer_day"
    kept = "CAST(m.weight - f.w1 - f.w2 - f.w3 - f.w4 AS BIGINT)"
    engine.add(
        "phase_weights",
        f"SELECT q.target, q.period, f.payer_day, m.weight, {kept}, f.w1, f.w2, f.w3, f.w4 FROM unheld_pots q "
        f"JOIN ({phases}) f ON f.target = q.target "
        "JOIN held_in_month m ON m.target = f.target AND m.payer_day = f.payer_day",
    )


def _pivot() -> dict[str, str]:
    sums = (f"CAST(sum(CASE WHEN phase = {n} THEN weight ELSE 0 END) AS BIGINT) AS w{n}" for n in NUMBERS)
    return {"phases": ", ".join(sums)}


def separate_pots(engine: Engine) -> None:
    """Count phases in `weight_totals`, so that a pot with a single payer is added up only if nothing divides it."""
    if exist(engine):
        divided = "SELECT DISTINCT target, period FROM phase_weights"
        engine.table(
            "weight_totals",
            "SELECT w.target, w.period, w.total_weight, "
            "w.payer_days + CASE WHEN f.target IS NULL THEN 0 ELSE 1 END AS payer_days, w.heaviest "
            f"FROM weight_totals w LEFT JOIN ({divided}) f ON f.target = w.target AND f.period = w.period",
        )


def split_pots(engine: Engine, integer_parts: Mapping[str, str], categories: Iterable[int], is_small: bool) -> None:
    """Make `phase_costs`, the lost and overhead parts of what attempts pay of pots.

    Pots that are split by spend come later, by `phase_parts`, the same parts by route. `integer_parts` has the columns
    of pots and the function that divides each.
    """
    if not exist(engine):
        engine.values("phase_costs", _COSTS, [])
        return
    keys, total = ("route", "category", "payer_day"), "small_sum" if is_small else "sum"
    fragments = {
        "columns": ", ".join(f"p.{name}" for name in integer_parts),
        "others": ", ".join(
            f"{total}({integer_part}(d.{name}, w.weight, d.total_weight)) AS {name}"
            for name, integer_part in integer_parts.items()
        ),
        "shares": ", ".join(
            f"CASE WHEN d.payer_day = d.heaviest THEN d.{name} - coalesce(o.{name}, 0) "
            f"ELSE {integer_part}(d.{name}, d.weight, d.total_weight) END AS {name}"
            for name, integer_part in integer_parts.items()
        ),
    }
    engine.step(PACKAGE, "phase_pots", "phase_pots", fragments)
    selects = (
        f"SELECT route, payer_day, CAST({number} AS INTEGER) AS category, {', '.join(WEIGHTS)}, "
        f"{', '.join(f'coalesce({basis}_{number}, 0) AS {basis}' for basis in BASES)} "
        f"FROM phase_pots WHERE effective_{number} IS NOT NULL"
        for number in categories
    )
    integer_part = "small_integer_part" if is_small else "integer_part"
    for index, amounts in enumerate(selects):  # one at a time: all at once would be too large a plan for Spark
        into = "parts_of_category" if index else "phase_parts"
        engine.step(PACKAGE, "phase_parts", into, _split(amounts, keys, integer_part))
        if index:
            engine.move(into, "phase_parts")
    engine.drop("phase_pots")
    share_keys = (
        "CAST(n.route * 32 + n.category AS INTEGER) AS share_kind, CAST(n.payer_day // 65536 AS INTEGER) AS attempt_key, "
        "r.machine, CAST(n.payer_day % 65536 AS INTEGER) AS day"
    )
    engine.table(
        "phase_costs",
        f"SELECT {share_keys}, n.phase, {', '.join(f'n.{basis}' for basis in BASES)} "
        "FROM phase_parts n JOIN routes r ON r.route = n.route",
    )


def split_spend(engine: Engine, weights: dict[str, str]) -> None:
    """Add to `phase_costs` what divided attempts pay of pots that are split by spend, by the phases of what they spent.

    `weights` has the fragments of step `spend_weights`.
    """
    if not exist(engine):
        return
    engine.values(
        "phase_spend", "route INTEGER, payer_key INTEGER, machine INTEGER, day BIGINT, phase INTEGER, weight BIGINT", []
    )
    for number in NUMBERS:
        parts = (
            "(SELECT route, CAST(payer_day // 65536 AS INTEGER) AS payer_key, payer_day % 65536 AS day, effective "
            f"FROM phase_parts WHERE phase = {number})"
        )
        spent = step_text(PACKAGE, "spend_weights", weights | {"parts": parts})
        engine.add("phase_spend", f"SELECT route, payer_key, machine, day, {number}, weight FROM ({spent})")
    engine.add("phase_costs", step_text(PACKAGE, "phase_parts", _split(_spend_amounts(), COST_KEYS)))
    engine.drop("phase_spend")


def _spend_amounts() -> str:
    keys = "route, payer_key, machine, day"
    same = "{0}.route = s.route AND {0}.payer_key = s.payer_key AND {0}.day = s.day AND " + (
        "{0}.machine IS NOT DISTINCT FROM s.machine"
    )
    others = " - ".join(["t.weight", *(f"f.w{n}" for n in NUMBERS)])
    return (
        "SELECT CAST(s.route * 32 + s.category AS INTEGER) AS share_kind, s.payer_key AS attempt_key, s.machine, "
        "CAST(s.day AS INTEGER) AS day, "
        f"greatest({others}, 0) AS w0, {', '.join(f'f.w{n}' for n in NUMBERS)}, "
        f"{', '.join(f'in_units(s.{basis}) AS {basis}' for basis in BASES)} FROM spend_parts s "
        f"JOIN (SELECT {keys}, {_pivot()['phases']} FROM phase_spend GROUP BY {keys}) f ON {same.format('f')} "
        f"JOIN spend_weights t ON {same.format('t')}"
    )


def _split(amounts: str, keys: Iterable[str], integer_part: str = "integer_part") -> dict[str, str]:
    """Return the fragments of step `phase_parts` for a SELECT of amounts with phase weights."""
    listed = ", ".join(keys)
    return {
        "amounts": amounts,
        "keys": listed,
        "parts": ", ".join(
            f"{integer_part}({basis}, {weight}, total_weight) AS {basis}_{weight}"
            for basis in BASES
            for weight in WEIGHTS
        ),
        "phases": "\n  UNION ALL\n  ".join(
            f"SELECT {listed}, CAST({number} AS INTEGER) AS phase, "
            f"{', '.join(_part(basis, f'w{number}', number) for basis in BASES)} FROM parts WHERE w{number} > 0"
            for number in NUMBERS
        ),
        "sums": ", ".join(f"as_money(sum({basis})) AS {basis}" for basis in BASES),
    }


def _part(basis: str, weight: str, number: int) -> str:
    others = " - ".join(f"{basis}_{other}" for other in WEIGHTS if other != weight)
    return f"CASE WHEN heaviest = {number} THEN {basis} - {others} ELSE {basis}_{weight} END AS {basis}"
