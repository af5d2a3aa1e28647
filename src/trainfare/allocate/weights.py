"""Weigh the payers of each pot, day by day, by the GPU seconds, CPU seconds or other measure that they held or used."""

from dataclasses import dataclass, replace
from decimal import Decimal

from trainfare.allocate import phases
from trainfare.allocate.payer_codes import PayerCode, code_fragments
from trainfare.allocate.weight_measures import (
    BY_TIME,
    FALLBACKS,
    HELD_AMOUNTS,
    MEASURED,
    MEASURES,
    weighted_hold,
    weighted_size,
)
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted, step_text
from trainfare.period import Month
from trainfare.store import scopes

PACKAGE = "trainfare.allocate"

SECOND_PARTS = 720_720_000
"""Parts of a second of an overcommitted machine: every number up to 16 divides it, and so does 1000."""
CLUSTER_SECOND_PARTS = 720_720
"""Parts of a second of a machine in a cluster that is weighed by time, for those who hold it at once to share."""

SMALL_WEIGHT = 3_000_000_000
"""The square of a weight below this is below 2^63, and so is the weight combined with a payer's number."""

MONTH_TABLES = {
    "weights": "target INTEGER, period BIGINT, payer_day BIGINT, weight BIGINT",
    "weight_totals": "target INTEGER, period BIGINT, total_weight BIGINT, payer_days BIGINT, heaviest BIGINT",
    "measured_periods": "target INTEGER, period BIGINT",
    "unmeasured_pots": "rule INTEGER, currency VARCHAR, at_stake DECIMAL(38,12)",
    "beyond_capacity": "machine INTEGER, starts BIGINT, ends BIGINT, held BIGINT, capacity BIGINT, measure VARCHAR",
}
"""Tables to which each weighing adds its rows."""
WEIGHING_TABLES = {
    "capacities": "target INTEGER, capacity BIGINT, existed_from BIGINT, existed_to BIGINT",
    "overcommitted_periods": "target INTEGER, period BIGINT",
}
"""Tables that only some weighings make; for the others they are empty."""


@dataclass(frozen=True)
class Weighing:
    """A scope, a measure, a treatment of idle time and weights of resources; rules that agree on all of it share it."""

    number: int
    among: str
    by: str
    idle: str
    weights: tuple[tuple[str, Decimal], ...] = ()

    @property
    def fragment(self) -> dict[str, str]:
        return {"weighing": str(self.number)}

    @property
    def weighted_size(self) -> dict[str, str]:
        """What a machine weighs by weighted resources; without weights no machine is weighed by them."""
        return {"weighted_size": weighted_size(dict(self.weights)) if self.weights else "NULL"}

    @property
    def weighted_hold(self) -> dict[str, str]:
        return {"weighted_hold": weighted_hold(dict(self.weights)) if self.weights else "NULL"}


@dataclass(frozen=True)
class _Window:
    """The time that the charges of one weighing cover, and the lengths of their periods, in seconds."""

    first_second: int
    last_second: int
    shortest: int
    longest: int

    def widened(self, month: Month) -> "_Window":
        first, last = int(month.start.timestamp()), int(month.end.timestamp())
        return replace(self, first_second=min(self.first_second, first), last_second=max(self.last_second, last))

    @property
    def bounds(self) -> dict[str, str]:
        return {"first_second": str(self.first_second), "last_second": str(self.last_second)}

    @property
    def lengths(self) -> dict[str, str]:
        return {"shortest": str(self.shortest), "longest": str(self.longest)}


@dataclass(frozen=True)
class _Sum:
    """How step `held` combines the hours of an attempt in a pot."""

    function: str = "sum"
    group_by: str = "GROUP BY h.target, p.period, CAST(h.attempt_key AS BIGINT) * 65536 + h.hour // 24"

    def fragments(self, hours: str, only: str = "") -> dict[str, str]:
        return {"hours": hours, "only": only, "sum": self.function, "group_by": self.group_by}


_SUMMED = _Sum()
_SINGLE_ROWS = _Sum("", "")
_ALL_HOLDS = {"holds": "holds"}


def weigh_all(engine: Engine, weighings: list[Weighing], month: Month, divides_work: bool = False) -> None:
    """Make `weights`, per target, period, payer and day, `weight_totals`, and if requested `phase_weights`."""
    first, last = engine.row("SELECT coalesce(min(first_second), 0), coalesce(max(last_second), 1) FROM targets")
    phases.prepare(engine, month, (first, last), divides_work)
    engine.step(PACKAGE, "periods", "periods", {"first_second": str(first), "last_second": str(last)})
    for name, columns in MONTH_TABLES.items():
        engine.values(name, columns, [])
    for weighing in weighings:
        count, *window = engine.row(
            "SELECT count(*), min(first_second), max(last_second), min(shortest), max(longest) "
            f"FROM targets WHERE weighing = {weighing.number}"
        )
        if count:
            _weigh(engine, weighing, _Window(*window), month)


def _weigh(engine: Engine, weighing: Weighing, window: _Window, month: Month) -> None:
    """Add the weights and weight totals of one weighing."""
    if weighing.among == "job":
        # A charge may name a job that held nothing in its time; then what the job held in the month counts.
        window = window.widened(month)
    for step in ("period_hours", "days"):
        engine.step(PACKAGE, step, step, window.bounds | window.lengths)
    for name, columns in WEIGHING_TABLES.items():
        engine.values(name, columns, [])
    phases.begin_weighing(engine)
    if weighing.among == "machine":
        _hold_machines(engine, weighing, window)
    elif weighing.among == "cluster":
        _hold_clusters(engine, weighing, window)
    else:
        _hold_scopes(engine, weighing, window)
    if weighing.by in MEASURED:
        _replace_by_measurements(engine, weighing)
    phases.weigh(engine, weighing.by == "evenly")
    if weighing.by == "evenly":
        once = "SELECT target, period, min(payer_day) AS payer_day, CAST(1 AS BIGINT) AS weight FROM held"
        engine.table("held", f"{once} GROUP BY target, period, payer_day // 65536")
    if weighing.among == "job":
        _weigh_by_month_where_nothing_was_held(engine, weighing, month)
    _add_weights(engine, weighing)
    engine.drop("holds", "timeline", "hold_hours", "overcommitted_hours", "period_hours", "held_phases")


def _add_weights(engine: Engine, weighing: Weighing) -> None:
    """Add `held` and what is idle beside it to `weights`, and their sums to `weight_totals`."""
    # What a job held in the month may lie on other days than the charge that names it.
    long = {"long": "true" if weighing.among == "job" else "d.long"}
    fragments = long | code_fragments(PayerCode.IDLE) | _idle(engine, weighing).fragments | _days(engine)
    engine.step(PACKAGE, "daily_weight_totals", "daily_weight_totals", fragments)
    engine.add(
        "weight_totals",
        "SELECT target, period, total_weight, payers, heaviest * 65536 + day FROM daily_weight_totals "
        "WHERE NOT long AND total_weight > 0",
    )
    if engine.row("SELECT count(*) FROM daily_weight_totals WHERE long")[0]:
        engine.step(PACKAGE, "multi_day_weight_totals", "multi_day_weight_totals")
        engine.add("weight_totals", "SELECT * FROM multi_day_weight_totals")
    engine.move("held", "weights")
    idle_payer_day = f"CAST({PayerCode.IDLE.value} AS BIGINT) * 65536 + day"
    engine.add("weights", f"SELECT target, period, {idle_payer_day}, idle FROM daily_weight_totals WHERE idle > 0")
    engine.drop("daily_weight_totals", "multi_day_weight_totals")


def _days(engine: Engine) -> dict[str, str]:
    """Return how `daily_weight_totals` reads `held`: in 64 bits if that fits, and with empty days of longer pots."""
    (heaviest,) = engine.row("SELECT coalesce(max(weight), 0) FROM held")
    (long,) = engine.row("SELECT count(*) FROM days WHERE long")
    empty = f"""UNION ALL
  SELECT c.target, d.period, d.day, 0, 0, 0, {PayerCode.IDLE.value}
  FROM (SELECT DISTINCT target FROM capacities) c JOIN days d ON d.long
  WHERE NOT EXISTS (SELECT 1 FROM held_days h WHERE h.target = c.target AND h.period = d.period AND h.day = d.day)"""
    return {"small": "small_" if heaviest < SMALL_WEIGHT else "", "empty_days": empty if long else ""}


@dataclass(frozen=True)
class _Idle:
    """SQL for what no job held on a day, and the joins that it needs."""

    weight: str = "CAST(0 AS BIGINT)"
    joins: str = ""

    @property
    def fragments(self) -> dict[str, str]:
        return {"idle_weight": self.weight, "capacity": self.joins}

    def unless_measured(self) -> "_Idle":
        """What was measured has no capacity, so none of it is idle."""
        measured = "LEFT JOIN measured_periods q ON q.target = w.target AND q.period = w.period"
        weight = f"CASE WHEN q.target IS NOT NULL THEN CAST(0 AS BIGINT) ELSE {self.weight} END"
        return _Idle(weight, f"{self.joins} {measured}")


def _idle(engine: Engine, weighing: Weighing) -> _Idle:
    """Return the idle weight of a day: its capacity less what was held."""
    if weighing.among not in ("machine", "cluster") or weighing.idle == "spread" or weighing.by == "evenly":
        return _Idle()
    idle = _idle_of_machines(engine) if weighing.among == "machine" else _idle_of_clusters()
    return idle.unless_measured() if weighing.by in MEASURED else idle


_EXISTED_SECONDS = "greatest(least(d.ends, c.existed_to) - greatest(d.starts, c.existed_from), 0)"


def _idle_of_machines(engine: Engine) -> _Idle:
    capacity, joins = "c.capacity", "JOIN capacities c ON c.target = w.target"
    if engine.row("SELECT count(*) FROM overcommitted_periods")[0]:
        capacity = f"CASE WHEN u.target IS NULL THEN c.capacity ELSE {SECOND_PARTS} END"
        joins += " LEFT JOIN overcommitted_periods u ON u.target = w.target AND u.period = w.period"
    return _Idle(f"CAST(greatest({capacity} * {_EXISTED_SECONDS} - w.held, 0) AS BIGINT)", joins)


def _idle_of_clusters() -> _Idle:
    joins = (
        f"JOIN (SELECT c.target, d.period, d.day, sum(c.capacity * {_EXISTED_SECONDS}) AS capacity "
        "FROM capacities c, days d GROUP BY ALL) c ON c.target = w.target AND c.period = w.period AND c.day = w.day"
    )
    return _Idle("CAST(c.capacity - w.held AS BIGINT)", joins)


def _replace_by_measurements(engine: Engine, weighing: Weighing) -> None:
    """Replace what was held by measured use in every pot that has any, and list the other pots as `unmeasured_pots`."""
    same_scope = "t.machine = p.machine"
    if weighing.among != "machine":
        of_use = {"region": "coalesce(p.from_region, lower(m.region))"}.get(weighing.among)
        same_scope = f"t.scope = {of_use or scopes.of_placement(weighing.among)}"
    measure = {
        "measure": quoted(MEASURED[weighing.by]),
        "same_scope": same_scope,
        "follows_machines": str(weighing.among in scopes.OF_MACHINES).lower(),
    }
    engine.step(PACKAGE, "measured_use", "measured_use", weighing.fragment | measure)
    engine.step(PACKAGE, "measured_held", "measured_held")
    engine.add("measured_periods", "SELECT DISTINCT target, period FROM measured_held")
    is_measured = "EXISTS (SELECT 1 FROM measured_periods s WHERE s.target = h.target AND s.period = h.period)"
    columns = "target, period, payer_day, weight"
    engine.table(
        "held", f"SELECT {columns} FROM held h WHERE NOT {is_measured} UNION ALL SELECT {columns} FROM measured_held"
    )
    phases.replace_by_measurements(engine)
    engine.step(PACKAGE, "unmeasured", "unmeasured", weighing.fragment)
    engine.add("unmeasured_pots", "SELECT rule, currency, at_stake FROM unmeasured")
    engine.drop("measured_use", "measured_held", "unmeasured")


@dataclass(frozen=True)
class _SecondWeights:
    """The weight of a second of wall time, and of an overcommitted machine (SQL over sizes s and timeline t)."""

    wall: int
    overcommitted: str

    @property
    def wall_fragment(self) -> dict[str, str]:
        return {"wall_weight": str(self.wall)}


_MACHINE_SECONDS = _SecondWeights(1, str(SECOND_PARTS))
_CLUSTER_SECONDS = _SecondWeights(CLUSTER_SECOND_PARTS, "coalesce(s.capacity, t.held)")


def _hold_machines(engine: Engine, weighing: Weighing, window: _Window) -> None:
    """Make `held` per machine. Pots in which a machine was overcommitted or of unknown size are cut in time."""
    measure = {"measure": MEASURES[weighing.by]} | weighing.weighted_size
    engine.step(PACKAGE, "sizes", "sizes", weighing.fragment | measure)
    _hold(engine, weighing, window, _MACHINE_SECONDS)
    engine.step(PACKAGE, "machine_capacities", "capacities")


def _hold_clusters(engine: Engine, weighing: Weighing, window: _Window) -> None:
    """Make `held` per cluster: what is held of each of its machines, added up.

    Where more is held of a machine than it has, its holders share what it has, so the idle time of others stays intact.
    """
    sizes = weighing.fragment | {"measure": MEASURES[weighing.by]} | _CLUSTER_SECONDS.wall_fragment
    engine.step(PACKAGE, "cluster_sizes", "sizes", sizes)
    _hold(engine, weighing, window, _CLUSTER_SECONDS)
    engine.step(PACKAGE, "cluster_capacities", "capacities")
    engine.table(
        "held",
        "SELECT s.cluster AS target, h.period, h.payer_day, CAST(sum(h.weight) AS BIGINT) AS weight "
        "FROM held h JOIN sizes s ON s.target = h.target GROUP BY s.cluster, h.period, h.payer_day",
    )
    phases.hold_clusters(engine)


def _hold(engine: Engine, weighing: Weighing, window: _Window, seconds: _SecondWeights) -> None:
    """Make `held` and `timeline` of the machines in `sizes`."""
    engine.step(PACKAGE, "machine_holds", "holds", window.bounds | seconds.wall_fragment | weighing.weighted_hold)
    if weighing.by in BY_TIME:
        _merge_holds(engine, seconds)
    engine.step(PACKAGE, "timeline", "timeline")
    # Read only once unless a machine is overcommitted, so no table is needed.
    engine.view("hold_hours", step_text(PACKAGE, "hold_hours", _ALL_HOLDS))
    engine.add(
        "beyond_capacity",
        "SELECT s.machine, t.starts, t.ends, t.held * s.unit, s.capacity * s.unit, s.measure "
        "FROM timeline t JOIN sizes s ON s.target = t.target WHERE t.held > s.capacity AND s.measure <> 'dominant'",
    )
    engine.step(PACKAGE, "overcommitted_periods", "overcommitted_periods")
    if not engine.row("SELECT count(*) FROM overcommitted_periods")[0]:
        engine.step(PACKAGE, "held", "held", _sum_of_holds(engine).fragments("hold_hours"))
        phases.hold(engine, "hold_hours")
        return
    is_overcommitted = (
        "EXISTS (SELECT 1 FROM overcommitted_periods u WHERE u.target = h.target AND u.period = p.period)"
    )
    engine.step(PACKAGE, "held", "held", _SUMMED.fragments("hold_hours", f"AND NOT {is_overcommitted}"))
    phases.hold(engine, "hold_hours", f"AND NOT {is_overcommitted}")
    engine.step(PACKAGE, "overcommitted_hours", "overcommitted_hours", {"second_weight": seconds.overcommitted})
    cut = _SUMMED.fragments("overcommitted_hours", f"AND {is_overcommitted}")
    engine.step(PACKAGE, "held", "overcommitted_held", cut)
    phases.hold(engine, "overcommitted_hours", f"AND {is_overcommitted}")
    engine.add("held", "SELECT * FROM overcommitted_held")
    engine.drop("overcommitted_held")


def _merge_holds(engine: Engine, seconds: _SecondWeights) -> None:
    """Count every second of an attempt on a target once."""
    engine.step(PACKAGE, "merged_holds", "merged", seconds.wall_fragment)
    engine.table("holds", "SELECT * FROM merged")
    engine.drop("merged")


def _sum_of_holds(engine: Engine) -> _Sum:
    """Return whether hours must be added up. Where no two meet in a pot, that would add up millions of single rows.

    So it is where pots are within an hour and an attempt held a machine once.
    """
    (hours, pots) = engine.row("SELECT count(*), count(DISTINCT period) FROM period_hours")
    (holds, holders) = engine.row(
        "SELECT count(*), count(DISTINCT CAST(target AS BIGINT) * 4294967296 + attempt_key) FROM holds"
    )
    return _SINGLE_ROWS if (hours, holds) == (pots, holders) else _SUMMED


def _hold_scopes(engine: Engine, weighing: Weighing, window: _Window) -> None:
    """Make `held` within accounts, regions, tags, jobs or the entire month."""
    _hold_scope(engine, weighing, window, weighing.by)
    if weighing.by in BY_TIME:
        _merge_holds(engine, _MACHINE_SECONDS)
    engine.step(PACKAGE, "hold_hours", "hold_hours", _ALL_HOLDS)
    engine.step(PACKAGE, "held", "held", _SUMMED.fragments("hold_hours"))
    phases.hold(engine, "hold_hours")
    for measure in FALLBACKS.get(weighing.by, ()):
        _hold_fallback(engine, weighing, window, measure)


def _hold_scope(engine: Engine, weighing: Weighing, window: _Window, measure: str) -> None:
    scope = {"scope": scopes.of_placement(weighing.among), "held_amount": HELD_AMOUNTS[measure]}
    engine.step(PACKAGE, "scope_holds", "holds", weighing.fragment | window.bounds | scope)


def _hold_fallback(engine: Engine, weighing: Weighing, window: _Window, measure: str) -> None:
    """Add to `held` the pots in which no job held any of the rule's measure, by another one: CPU-only jobs pay too."""
    if not engine.row("SELECT count(*) FROM holds WHERE held_amount = 0")[0]:
        return
    _hold_scope(engine, weighing, window, measure)
    engine.step(PACKAGE, "hold_hours", "fallback_hours", _ALL_HOLDS)
    nobody = "AND NOT EXISTS (SELECT 1 FROM held x WHERE x.target = h.target AND x.period = p.period)"
    engine.step(PACKAGE, "held", "fallback_held", _SUMMED.fragments("fallback_hours", nobody))
    phases.hold(engine, "fallback_hours", nobody)
    engine.add("held", "SELECT * FROM fallback_held")
    engine.add(
        "hold_hours",
        "SELECT * FROM fallback_hours f WHERE NOT EXISTS (SELECT 1 FROM hold_hours h WHERE h.target = f.target)",
    )
    engine.drop("fallback_hours", "fallback_held")


def _weigh_by_month_where_nothing_was_held(engine: Engine, weighing: Weighing, month: Month) -> None:
    """Weigh jobs that charges name, and that held nothing in the time of the charge, by what they held in the month."""
    first, last = (int(moment.timestamp()) // 3600 for moment in (month.start, month.end))
    payer_day = "CAST(attempt_key AS BIGINT) * 65536 + hour // 24"
    weight = "CAST(sum((ends - starts) * held_amount) AS BIGINT)"
    engine.table(
        "held_in_month",
        f"SELECT target, {payer_day} AS payer_day, {weight} AS weight FROM hold_hours "
        f"WHERE hour >= {first} AND hour < {last} GROUP BY target, {payer_day}",
    )
    engine.table(
        "unheld_pots",
        "SELECT q.target, q.period FROM ("
        "SELECT DISTINCT k.target, period_key(c.period_start, c.period_end) AS period FROM keyed_charges c "
        "JOIN kind_routes k ON k.kind = c.kind "
        f"JOIN targets t ON t.target = k.target AND t.weighing = {weighing.number}"
        ") q WHERE NOT EXISTS (SELECT 1 FROM held h WHERE h.target = q.target AND h.period = q.period)",
    )
    held = "SELECT q.target, q.period, a.payer_day, a.weight FROM unheld_pots q JOIN held_in_month a "
    engine.add("held", f"{held} ON a.target = q.target")
    phases.weigh_month(engine, first, last)
