"""Let records go wrong: `written` are the lines as they are delivered, and each fault says what it truly puts at stake."""

from collections.abc import Callable

from trainfare.simulate.cluster.faults import Fault, Faults
from trainfare.simulate.cluster.truth import Truth

TAGGED = "tags IS NOT NULL AND tags <> ''"


def go(truth: Truth, seed: int, faults: Faults) -> dict[str, int]:
    """Make `written` and `runs_twice`; returns the money at stake by fault, in whole units."""
    truth.run("CREATE OR REPLACE TABLE written AS SELECT *, effective AS right_effective, false AS is_copy FROM lines")
    truth.run("CREATE OR REPLACE TABLE runs_twice (number BIGINT)")
    _restate(truth)
    return {code: _WAYS[code](truth, fault, seed) for code, fault in sorted(faults.items())}


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


_WAYS: dict[str, Callable[[Truth, Fault, int], int]] = {
    "F1": _lose_tags,
    "F5": _deliver_twice,
    "F6": _amortise_wrongly,
    "F7": _run_away,
    "F8": _hold_back,
}
