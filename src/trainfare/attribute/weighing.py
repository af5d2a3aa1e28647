"""Who weighs how much: for each pot the GPU seconds, CPU seconds or other measure that its payers held, day by day."""

from dataclasses import dataclass

from trainfare import scope
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted, step_text
from trainfare.period import Month

PACKAGE = "trainfare.attribute"

IDLE = 2147483647
"""The payer of what nobody held; numbered above all attempts."""
SECOND = 720_720_000
"""Parts that a second of an unevenly held machine has: every number up to 16 divides it, and so does 1000."""
MOMENT = 720_720
"""Parts that a second of a machine has within a cluster that is weighed by time, so that those who hold it at once can share it."""

SMALL_WEIGHT = 3_000_000_000
"""The square of a weight below this is below 2^63, and so is the weight beside the number of a payer."""

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
        "CASE WHEN coalesce(p.gpu_micros, p.cpu_millis, p.memory_mbs) IS NULL THEN 1000000 ELSE "
        "greatest(coalesce(p.gpu_micros * 1000000 // nullif(m.gpu_micros, 0), CASE WHEN p.gpu_micros > 0 THEN 1000000 ELSE 0 END), "
        "coalesce(p.cpu_millis * 1000000 // nullif(m.cpu_millis, 0), CASE WHEN p.cpu_millis > 0 THEN 1000000 ELSE 0 END), "
        "coalesce(p.memory_mbs * 1000000 // nullif(m.memory_mbs, 0), CASE WHEN p.memory_mbs > 0 THEN 1000000 ELSE 0 END)) END"
    ),
    "wall_seconds": "1",
    "evenly": "1",
}
INSTEAD = {
    **dict.fromkeys(("gpu_seconds", "bytes_sent", "requests"), ("cpu_seconds", "wall_seconds")),
    **dict.fromkeys(("cpu_seconds", "memory", "dominant"), ("wall_seconds",)),
}
"""What a pot within a scope is weighed by where nobody held any of the measure, in this order."""
BY_TIME = ("wall_seconds", "evenly")
MEASURED = {"bytes_sent": "bytes_sent", "requests": "storage_requests"}
"""Ways to weigh by what was measured, and the measure; a pot of which nothing was measured is weighed by what was held."""

ADDED_UP = {
    "sum": "sum",
    "together": "GROUP BY c.target, p.period, CAST(c.attempt_key AS BIGINT) * 65536 + c.hour // 24",
}
"""How `held` adds up cells."""

OF_THE_MONTH = {
    "weights": "target INTEGER, period BIGINT, piece BIGINT, weight BIGINT",
    "slots": "target INTEGER, period BIGINT, whole BIGINT, pieces BIGINT, heaviest BIGINT",
    "measured_slots": "target INTEGER, period BIGINT",
    "unmeasured_pots": "rule INTEGER, currency VARCHAR, at_stake DECIMAL(38,12)",
    "beyond_capacity": "machine INTEGER, starts BIGINT, ends BIGINT, held BIGINT, capacity BIGINT, measure VARCHAR",
}
"""Tables to which each weighing adds its rows."""
OF_A_WEIGHING = {
    "capacities": "target INTEGER, capacity BIGINT, existed_from BIGINT, existed_to BIGINT",
    "uneven_slots": "target INTEGER, period BIGINT",
}
"""Tables that not every weighing makes, and that are empty then."""


@dataclass(frozen=True)
class Weighing:
    """One way to weigh payers; rules that agree on it share it."""

    number: int
    among: str
    by: str
    idle: str


def weigh_all(engine: Engine, weighings: list[Weighing], month: Month) -> None:
    """Make `weights`, what each payer weighs per target, period and day, and `slots`, what each pot weighs as a whole."""
    first, last = engine.row("SELECT coalesce(min(first_second), 0), coalesce(max(last_second), 1) FROM targets")
    engine.step(PACKAGE, "periods", "periods", {"first_second": str(first), "last_second": str(last)})
    for name, columns in OF_THE_MONTH.items():
        engine.values(name, columns, [])
    for weighing in weighings:
        found = engine.row(
            "SELECT count(*), min(first_second), max(last_second), min(shortest), max(longest) "
            f"FROM targets WHERE weighing = {weighing.number}"
        )
        if found[0]:
            names = ("first_second", "last_second", "shortest", "longest")
            _weigh(engine, weighing, dict(zip(names, found[1:], strict=True)), month)


def _weigh(engine: Engine, weighing: Weighing, window: dict[str, int], month: Month) -> None:
    """Add the weights and slots of one weighing. The window is the time its charges speak of."""
    if weighing.among == "job":
        # A charge may name a job that held nothing in its time; what it held in the month counts then.
        window["first_second"] = min(window["first_second"], int(month.start.timestamp()))
        window["last_second"] = max(window["last_second"], int(month.end.timestamp()))
    given = {name: str(value) for name, value in window.items()}
    given |= {"weighing": str(weighing.number), "idle": str(IDLE)}
    for step in ("period_cells", "days"):
        engine.step(PACKAGE, step, step, given)
    for name, columns in OF_A_WEIGHING.items():
        engine.values(name, columns, [])
    if weighing.among == "machine":
        _hold_machines(engine, weighing, given)
    elif weighing.among == "cluster":
        _hold_clusters(engine, weighing, given)
    else:
        _hold_scopes(engine, weighing, given)
    if weighing.by in MEASURED:
        _take_what_was_measured(engine, weighing, given)
    if weighing.by == "evenly":
        once = "SELECT target, period, min(piece) AS piece, CAST(1 AS BIGINT) AS weight FROM held"
        once += " GROUP BY target, period, piece // 65536"
        engine.table("held", once)
    if weighing.among == "job":
        _share_by_the_month_where_nothing_was_held(engine, weighing, month)
    # What a job held in the month may lie on other days than the charge that names it.
    long = "true" if weighing.among == "job" else "d.long"
    engine.step(PACKAGE, "slot_days", "slot_days", given | _idle(engine, weighing) | _days(engine) | {"long": long})
    engine.add(
        "slots",
        "SELECT target, period, whole, pieces, heaviest * 65536 + day FROM slot_days WHERE NOT long AND whole > 0",
    )
    if engine.row("SELECT count(*) FROM slot_days WHERE long")[0]:
        engine.step(PACKAGE, "long_slots", "long_slots")
        engine.add("slots", "SELECT * FROM long_slots")
    engine.move("held", "weights")
    idle_piece = f"CAST({IDLE} AS BIGINT) * 65536 + day"
    engine.add("weights", f"SELECT target, period, {idle_piece}, idle FROM slot_days WHERE idle > 0")
    engine.drop("holds", "timeline", "cells", "cut_cells", "period_cells", "slot_days", "long_slots")


def _days(engine: Engine) -> dict[str, str]:
    """How `slot_days` comes from what was held: in 64 bits if that fits, and with days on which nobody held anything where pots have
    several.
    """
    (heaviest,) = engine.row("SELECT coalesce(max(weight), 0) FROM held")
    (long,) = engine.row("SELECT count(*) FROM days WHERE long")
    empty = f"""UNION ALL
  SELECT c.target, d.period, d.day, 0, 0, 0, {IDLE}
  FROM (SELECT DISTINCT target FROM capacities) c JOIN days d ON d.long
  WHERE NOT EXISTS (SELECT 1 FROM held_days h WHERE h.target = c.target AND h.period = d.period AND h.day = d.day)"""
    return {"small": "small_" if heaviest < SMALL_WEIGHT else "", "empty_days": empty if long else ""}


def _idle(engine: Engine, weighing: Weighing) -> dict[str, str]:
    """SQL for what nobody held on a day: the capacity of that day less what was held."""
    if weighing.among not in ("machine", "cluster") or weighing.idle == "spread" or weighing.by == "evenly":
        return {"idle_weight": "CAST(0 AS BIGINT)", "capacity": ""}
    seconds = "greatest(least(d.ends, c.existed_to) - greatest(d.starts, c.existed_from), 0)"
    if weighing.among == "machine":
        capacity, join = "c.capacity", "JOIN capacities c ON c.target = w.target"
        if engine.row("SELECT count(*) FROM uneven_slots")[0]:
            capacity = f"CASE WHEN u.target IS NULL THEN c.capacity ELSE {SECOND} END"
            join += " LEFT JOIN uneven_slots u ON u.target = w.target AND u.period = w.period"
        idle = f"CAST(greatest({capacity} * {seconds} - w.held, 0) AS BIGINT)"
        return _unless_measured(idle, join, weighing)
    whole = (
        f"JOIN (SELECT c.target, d.period, d.day, sum(c.capacity * {seconds}) AS capacity FROM capacities c, days d "
        "GROUP BY ALL) c ON c.target = w.target AND c.period = w.period AND c.day = w.day"
    )
    idle = "CAST(c.capacity - w.held AS BIGINT)"
    return _unless_measured(idle, whole, weighing)


def _unless_measured(idle: str, join: str, weighing: Weighing) -> dict[str, str]:
    """What was measured has no capacity, so nothing of it is idle."""
    if weighing.by not in MEASURED:
        return {"idle_weight": idle, "capacity": join}
    measured = "LEFT JOIN measured_slots q ON q.target = w.target AND q.period = w.period"
    none_idle = f"CASE WHEN q.target IS NOT NULL THEN CAST(0 AS BIGINT) ELSE {idle} END"
    return {"idle_weight": none_idle, "capacity": f"{join} {measured}"}


def _take_what_was_measured(engine: Engine, weighing: Weighing, given: dict[str, str]) -> None:
    """Put measured use in the place of what was held in every pot that has any; keep what rests on holding as `unmeasured_pots`."""
    same_scope = "t.machine = p.machine"
    if weighing.among != "machine":
        of_use = {"region": "coalesce(p.from_region, lower(m.region))"}.get(weighing.among)
        same_scope = f"t.scope = {of_use or scope.of_placement(weighing.among)}"
    asked = given | {"measure": quoted(MEASURED[weighing.by]), "same_scope": same_scope}
    for step in ("measured_use", "measured_held"):
        engine.step(PACKAGE, step, step, asked)
    engine.add("measured_slots", "SELECT DISTINCT target, period FROM measured_held")
    is_measured = "EXISTS (SELECT 1 FROM measured_slots s WHERE s.target = h.target AND s.period = h.period)"
    columns = "target, period, piece, weight"
    engine.table(
        "held", f"SELECT {columns} FROM held h WHERE NOT {is_measured} UNION ALL SELECT {columns} FROM measured_held"
    )
    engine.step(PACKAGE, "unmeasured", "unmeasured", given)
    engine.add("unmeasured_pots", "SELECT rule, currency, at_stake FROM unmeasured")
    engine.drop("measured_use", "measured_held", "unmeasured")


def _hold_machines(engine: Engine, weighing: Weighing, given: dict[str, str]) -> None:
    """Make `held` among machines; pots with an uneven time are cut there."""
    engine.step(PACKAGE, "sizes", "sizes", given | {"measure": MEASURES[weighing.by]})
    _hold(engine, weighing, given | {"moment": "1", "worth": str(SECOND)})
    engine.step(PACKAGE, "machine_capacities", "capacities", given)


def _hold_clusters(engine: Engine, weighing: Weighing, given: dict[str, str]) -> None:
    """Make `held` among clusters: what is held of each of their machines, added up. Where more is held of one than it has, its holders
    of that time share what it has, so that nothing is taken away from what is idle on others.
    """
    given = given | {"moment": str(MOMENT), "worth": "coalesce(s.capacity, t.held)"}
    engine.step(PACKAGE, "cluster_sizes", "sizes", given | {"measure": MEASURES[weighing.by]})
    _hold(engine, weighing, given)
    engine.step(PACKAGE, "cluster_capacities", "capacities", given)
    weight = "SELECT s.cluster AS target, h.period, h.piece, CAST(sum(h.weight) AS BIGINT) AS weight "
    engine.table(
        "held", weight + "FROM held h JOIN sizes s ON s.target = h.target GROUP BY s.cluster, h.period, h.piece"
    )


def _hold(engine: Engine, weighing: Weighing, given: dict[str, str]) -> None:
    """Make `held` and `timeline` of the machines in `sizes`."""
    engine.step(PACKAGE, "machine_holds", "holds", given)
    if weighing.by in BY_TIME:
        _hold_each_second_once(engine, given)
    engine.step(PACKAGE, "timeline", "timeline", given)
    # Read once where no pot is uneven, so they need not be kept.
    engine.view("cells", step_text(PACKAGE, "even_cells"))
    engine.add(
        "beyond_capacity",
        "SELECT s.machine, t.starts, t.ends, t.held * s.unit, s.capacity * s.unit, s.measure "
        "FROM timeline t JOIN sizes s ON s.target = t.target WHERE t.held > s.capacity AND s.measure <> 'dominant'",
    )
    engine.step(PACKAGE, "uneven_slots", "uneven_slots")
    is_uneven = "EXISTS (SELECT 1 FROM uneven_slots u WHERE u.target = c.target AND u.period = p.period)"
    if not engine.row("SELECT count(*) FROM uneven_slots")[0]:
        engine.step(PACKAGE, "held", "held", {"cells": "cells", "only": ""} | _adding(engine))
        return
    engine.step(PACKAGE, "held", "held", {"cells": "cells", "only": f"AND NOT {is_uneven}"} | ADDED_UP)
    engine.step(PACKAGE, "uneven_cells", "cut_cells", given)
    engine.step(PACKAGE, "held", "cut_held", {"cells": "cut_cells", "only": f"AND {is_uneven}"} | ADDED_UP)
    engine.add("held", "SELECT * FROM cut_held")
    engine.drop("cut_held")


def _hold_each_second_once(engine: Engine, given: dict[str, str]) -> None:
    engine.step(PACKAGE, "merged_holds", "merged", given)
    engine.table("holds", "SELECT * FROM merged")
    engine.drop("merged")


def _adding(engine: Engine) -> dict[str, str]:
    """How what an attempt weighs in a pot comes from cells: as it is where no two of them meet, which saves adding up millions of single
    rows. So it is where pots are within an hour and an attempt held a machine once.
    """
    (cells, pots) = engine.row("SELECT count(*), count(DISTINCT period) FROM period_cells")
    (holds, holders) = engine.row(
        "SELECT count(*), count(DISTINCT CAST(target AS BIGINT) * 4294967296 + attempt_key) FROM holds"
    )
    return {"sum": "", "together": ""} if (cells, holds) == (pots, holders) else ADDED_UP


def _hold_scopes(engine: Engine, weighing: Weighing, given: dict[str, str]) -> None:
    """Make `held` within accounts, regions, tags, jobs or everything."""
    asked = given | {"scope": scope.of_placement(weighing.among), "moment": "1"}
    engine.step(PACKAGE, "scope_holds", "holds", asked | {"grip": GRIPS[weighing.by]})
    if weighing.by in BY_TIME:
        _hold_each_second_once(engine, asked)
    engine.step(PACKAGE, "even_cells", "cells")
    engine.step(PACKAGE, "held", "held", {"cells": "cells", "only": ""} | ADDED_UP)
    for measure in INSTEAD.get(weighing.by, ()):
        _hold_instead(engine, asked | {"grip": GRIPS[measure]})


def _hold_instead(engine: Engine, asked: dict[str, str]) -> None:
    """Add to `held` the pots of which nobody held any of the measure, by another one, so that CPU-only jobs pay their own way."""
    if not engine.row("SELECT count(*) FROM holds WHERE grip = 0")[0]:
        return
    engine.step(PACKAGE, "scope_holds", "holds", asked)
    engine.step(PACKAGE, "even_cells", "other_cells")
    nobody = "AND NOT EXISTS (SELECT 1 FROM held h WHERE h.target = c.target AND h.period = p.period)"
    engine.step(PACKAGE, "held", "other_held", {"cells": "other_cells", "only": nobody} | ADDED_UP)
    engine.add("held", "SELECT * FROM other_held")
    engine.add(
        "cells", "SELECT * FROM other_cells o WHERE NOT EXISTS (SELECT 1 FROM cells c WHERE c.target = o.target)"
    )
    engine.drop("other_cells", "other_held")


def _share_by_the_month_where_nothing_was_held(engine: Engine, weighing: Weighing, month: Month) -> None:
    """Weigh the jobs that charges name, and that held nothing in their time, by what they held in the month."""
    first, last = (int(moment.timestamp()) // 3600 for moment in (month.start, month.end))
    piece = "CAST(attempt_key AS BIGINT) * 65536 + hour // 24"
    engine.table(
        "in_month",
        f"SELECT target, {piece} AS piece, CAST(sum((ends - starts) * grip) AS BIGINT) AS weight FROM cells "
        f"WHERE hour >= {first} AND hour < {last} GROUP BY target, {piece}",
    )
    engine.add(
        "held",
        "SELECT q.target, q.period, a.piece, a.weight FROM ("
        "SELECT DISTINCT k.target, period_key(c.period_start, c.period_end) AS period FROM keyed_charges c "
        "JOIN keyed_kinds k ON k.kind = c.kind "
        f"JOIN targets t ON t.target = k.target AND t.weighing = {weighing.number}"
        ") q JOIN in_month a ON a.target = q.target "
        "WHERE NOT EXISTS (SELECT 1 FROM held h WHERE h.target = q.target AND h.period = q.period)",
    )
