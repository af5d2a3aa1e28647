"""Let records go wrong: `written` are the lines as they are delivered, and each fault says what it truly puts at stake."""

from collections.abc import Callable

from trainfare.money import UNITS
from trainfare.simulate.clock import DAY
from trainfare.simulate.cluster.faults import Fault, Faults
from trainfare.simulate.cluster.truth import LICENCE, Truth

AMOUNTS = ("effective", "billed", "list", "right_effective")
LONGEST_DAY = 12
"""More hours than these on a day are not believed."""
PROVISIONAL = "eu"
"""The bill whose last day is not final before the whole of it has come."""
TAGGED = "tags IS NOT NULL AND tags <> ''"


def go(truth: Truth, seed: int, faults: Faults) -> dict[str, int]:
    """Make `written` and `runs_twice`; returns the money at stake by fault, in whole units."""
    truth.run("CREATE OR REPLACE TABLE written AS SELECT *, effective AS right_effective, false AS is_copy FROM lines")
    truth.run("CREATE OR REPLACE TABLE runs_twice (number BIGINT)")
    _restate(truth)
    return {code: _WAYS[code](truth, fault, seed) for code, fault in sorted(faults.items())}


def come_late(truth: Truth, day: int) -> None:
    """Leave in `written` what the bills say when they have come as far as this day.

    One is provisional: its last day is a twentieth too dear, and is stated again when the rest comes.
    """
    through = truth.cluster.start + day * DAY
    truth.run(f"DELETE FROM written WHERE ends > {through} AND kind <> 'purchase'")
    dearer = ", ".join(f"{name} = {name} * 21 // 20" for name in ("effective", "billed", "list"))
    last_day = f"bill = '{PROVISIONAL}' AND starts >= {through - DAY} AND kind <> 'purchase'"
    truth.run(f"UPDATE written SET {dearer} WHERE {last_day}")


def _restate(truth: Truth) -> None:
    """An hour that was charged too much and corrected on the same bill: it adds up to nothing."""
    line = "SELECT * FROM lines WHERE kind = 'machine' AND bill = 'us' ORDER BY starts DESC, resource_id LIMIT 1"
    for sign, charge_class in (("", "NULL"), ("-", "'Correction'")):
        amounts = ", ".join(f"{sign}{name} AS {name}" for name in ("effective", "billed", "list"))
        truth.run(
            f"INSERT INTO written SELECT * REPLACE ({amounts}, {charge_class} AS charge_class), "
            f"{sign}effective, false FROM ({line})"
        )


def _lose_tags(truth: Truth, fault: Fault, seed: int) -> int:
    """F1: lines lose their tags. At stake is everything that names nobody."""
    chosen = f"{TAGGED} AND starts >= {fault.starts(truth.cluster.month)} AND hash(resource_id, {seed}) % 1000 < {fault.times(1000)}"
    truth.run(f"UPDATE written SET tags = NULL, job_id = NULL WHERE {chosen}")
    nobody = "kind IN ('gateway', 'datasets', 'checkpoints', 'requests', 'egress')"
    return truth.units(f"SELECT sum(effective) FROM written WHERE {nobody} AND NOT coalesce({TAGGED}, false)")


def _deliver_twice(truth: Truth, fault: Fault, seed: int) -> int:
    """F5: days of an export come again in another file; or, every other seed, runs are logged under a second name."""
    first = fault.starts(truth.cluster.month)
    last = first + fault.times(truth.cluster.end - first)
    if seed % 2:
        days = f"bill = 'eu' AND starts >= {first} AND starts < {last}"
        truth.run(f"INSERT INTO written SELECT * REPLACE (true AS is_copy) FROM written WHERE {days}")
        return truth.units("SELECT sum(effective) FROM written WHERE is_copy")
    truth.run(
        f"INSERT INTO runs_twice SELECT number FROM attempts WHERE pool LIKE '%-eu%' AND gpus = 8 AND started >= {first} "
        f"AND ended <= {last} AND hash(job_id, {seed}) % 2 = 0"
    )
    return truth.units(truth.text("runs_twice_cost"))


def _amortise_wrongly(truth: Truth, fault: Fault, seed: int) -> int:
    """F6: from some day on what the commitment covers costs another amount. At stake is the difference."""
    chosen = f"commitment_status = 'Used' AND starts >= {fault.starts(truth.cluster.month)}"
    size = f"{fault.size}::DECIMAL(9,3)"
    truth.run(f"UPDATE written SET effective = CAST(floor(right_effective * {size}) AS HUGEINT) WHERE {chosen}")
    return truth.units("SELECT sum(abs(effective - right_effective)) FROM written")


def _run_away(truth: Truth, fault: Fault, seed: int) -> int:
    """F7: nothing is wrong with the records; the machines were there. At stake is what they cost."""
    surplus = "SELECT resource_id FROM machines WHERE is_surplus"
    return truth.units(f"SELECT sum(effective) FROM written WHERE resource_id IN ({surplus})")


def _hold_back(truth: Truth, fault: Fault, seed: int) -> int:
    """F8: the bill of one region ends early. At stake is what it does not say yet."""
    missing = f"bill = 'eu' AND ends > {fault.starts(truth.cluster.month)}"
    stake = truth.units(f"SELECT sum(effective) FROM written WHERE {missing}")
    truth.run(f"DELETE FROM written WHERE {missing}")
    return stake


def _churn(truth: Truth, fault: Fault, seed: int) -> int:
    """F2: the machines were taken away. At stake is what the lost time cost."""
    return sum(taken for _, taken in truth.lost().values())


def _send_far(truth: Truth, fault: Fault, seed: int) -> int:
    """F3: jobs read from another region. At stake is what all sending between regions costs."""
    return truth.units("SELECT sum(effective) FROM written WHERE kind = 'egress'")


def _ask_in_secret(truth: Truth, fault: Fault, seed: int) -> int:
    """F4: storage is asked more often than jobs report. The bill is right; at stake is what nobody reported."""
    chosen = f"kind = 'requests' AND starts >= {fault.starts(truth.cluster.month)}"
    before = truth.units("SELECT sum(effective) FROM lines WHERE kind = 'requests'")
    for table, names in (("lines", AMOUNTS[:3]), ("written", AMOUNTS)):
        amounts = ", ".join(f"{name} = CAST({name} * {fault.size}::DECIMAL(9,3) AS HUGEINT)" for name in names)
        truth.run(f"UPDATE {table} SET {amounts} WHERE {chosen}")
    return truth.units("SELECT sum(effective) FROM lines WHERE kind = 'requests'") - before


def _enter_wrongly(truth: Truth, fault: Fault, seed: int) -> int:
    """F9: time entries name a project that is over (odd seeds), or are entered over and over (even seeds)."""
    first = fault.starts(truth.cluster.month)
    chosen = f"day >= {first} AND hash(person, day, {seed}) % 1000 < {fault.times(1000)}"
    if seed % 2:
        truth.run(f"UPDATE labour SET project = 'project-of-last-year' WHERE {chosen}")
        return truth.units(f"SELECT sum(hours * rate) * {UNITS} FROM labour WHERE project <> right_project")
    truth.run(f"UPDATE labour SET hours = 20 WHERE {chosen}")
    return truth.units(f"SELECT sum((hours - {LONGEST_DAY}) * rate) * {UNITS} FROM labour WHERE hours > {LONGEST_DAY}")


def _buy(truth: Truth, fault: Fault, seed: int) -> int:
    """F10: a licence that nobody had before. At stake is what it costs."""
    price = fault.times(LICENCE)
    truth.run(f"INSERT INTO licences VALUES ('Profiler cloud', {price}, {fault.starts(truth.cluster.month)})")
    return int(price * UNITS)


_WAYS: dict[str, Callable[[Truth, Fault, int], int]] = {
    "F1": _lose_tags,
    "F2": _churn,
    "F3": _send_far,
    "F4": _ask_in_secret,
    "F5": _deliver_twice,
    "F6": _amortise_wrongly,
    "F7": _run_away,
    "F8": _hold_back,
    "F9": _enter_wrongly,
    "F10": _buy,
}
