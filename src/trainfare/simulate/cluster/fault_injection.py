"""Inject faults: `delivered_lines` holds the bill lines as delivered; each fault returns the true money at stake."""

from collections.abc import Callable

from trainfare.money import UNITS
from trainfare.simulate.clock import DAY
from trainfare.simulate.cluster import near_misses
from trainfare.simulate.cluster.faults import Fault, Faults
from trainfare.simulate.cluster.truth import LICENSE_PRICE, Truth

AMOUNTS = ("effective", "billed", "list", "true_effective")
MAX_HOURS_PER_DAY = 12
"""More hours per person and day are implausible."""
PROVISIONAL = "eu"
"""The bill whose last day is provisional until the bill is complete."""
TAGGED = "tags IS NOT NULL AND tags <> ''"


def inject(truth: Truth, seed: int, faults: Faults) -> dict[str, int]:
    """Create `delivered_lines` and `duplicate_runs`; return the money at stake by fault, in whole units.

    Near misses have none.
    """
    truth.run(
        "CREATE OR REPLACE TABLE delivered_lines AS "
        "SELECT *, effective AS true_effective, false AS is_copy FROM true_lines"
    )
    truth.run("CREATE OR REPLACE TABLE duplicate_runs (number BIGINT)")
    _add_correction(truth)
    stakes = {}
    for code, fault in sorted(faults.items()):
        if code in _INJECTORS:
            stakes[code] = _INJECTORS[code](truth, fault, seed)
        else:
            near_misses.apply(truth, code, fault, seed)
    return stakes


def truncate_bills(truth: Truth, day: int) -> None:
    """Reduce `delivered_lines` to what the bills contain when they cover the month through this day.

    One bill is provisional: its last day is 5 % too high and is restated when the rest arrives.
    """
    through = truth.cluster.start + day * DAY
    truth.run(f"DELETE FROM delivered_lines WHERE ends > {through} AND kind <> 'purchase'")
    raised = ", ".join(f"{name} = {name} * 21 // 20" for name in ("effective", "billed", "list"))
    last_day = f"bill = '{PROVISIONAL}' AND starts >= {through - DAY} AND kind <> 'purchase'"
    truth.run(f"UPDATE delivered_lines SET {raised} WHERE {last_day}")


def _add_correction(truth: Truth) -> None:
    """Add an hour that was charged in error and corrected on the same bill: together they are zero."""
    line = "SELECT * FROM true_lines WHERE kind = 'machine' AND bill = 'us' ORDER BY starts DESC, resource_id LIMIT 1"
    for sign, charge_class in (("", "NULL"), ("-", "'Correction'")):
        amounts = ", ".join(f"{sign}{name} AS {name}" for name in ("effective", "billed", "list"))
        truth.run(
            f"INSERT INTO delivered_lines SELECT * REPLACE ({amounts}, {charge_class} AS charge_class), "
            f"{sign}effective, false FROM ({line})"
        )


def _lose_tags(truth: Truth, fault: Fault, seed: int) -> int:
    """F1: lines lose their tags. At stake: every line that names neither a machine nor a job nor a tag."""
    start = fault.starts(truth.cluster.month)
    chosen = f"{TAGGED} AND starts >= {start} AND hash(resource_id, {seed}) % 1000 < {fault.times(1000)}"
    truth.run(f"UPDATE delivered_lines SET tags = NULL, job_id = NULL WHERE {chosen}")
    unattributed = "kind IN ('gateway', 'datasets', 'checkpoints', 'requests', 'egress')"
    unattributed = f"{unattributed} AND NOT coalesce({TAGGED}, false)"
    return truth.integer(f"SELECT sum(effective) FROM delivered_lines WHERE {unattributed}")


def _duplicate(truth: Truth, fault: Fault, seed: int) -> int:
    """F5: days of an export are delivered again in another file (odd seeds), or runs are logged twice (even seeds)."""
    first = fault.starts(truth.cluster.month)
    last = first + fault.times(truth.cluster.end - first)
    if seed % 2:
        days = f"bill = 'eu' AND starts >= {first} AND starts < {last}"
        truth.run(f"INSERT INTO delivered_lines SELECT * REPLACE (true AS is_copy) FROM delivered_lines WHERE {days}")
        return truth.integer("SELECT sum(effective) FROM delivered_lines WHERE is_copy")
    truth.run(
        "INSERT INTO duplicate_runs SELECT number FROM attempts WHERE pool LIKE '%-eu%' AND gpus = 8 "
        f"AND started >= {first} AND ended <= {last} AND hash(job_id, {seed}) % 2 = 0"
    )
    return truth.integer(truth.query("duplicate_run_cost"))


def _distort_amortization(truth: Truth, fault: Fault, seed: int) -> int:
    """F6: from some day on, covered usage has a wrong amortized cost. At stake: the difference."""
    chosen = f"commitment_status = 'Used' AND starts >= {fault.starts(truth.cluster.month)}"
    size = f"{fault.size}::DECIMAL(9,3)"
    truth.run(f"UPDATE delivered_lines SET effective = CAST(floor(true_effective * {size}) AS HUGEINT) WHERE {chosen}")
    return truth.integer("SELECT sum(abs(effective - true_effective)) FROM delivered_lines")


def _start_surplus_machines(truth: Truth, fault: Fault, seed: int) -> int:
    """F7: the records are correct; the machines did run. At stake: their cost."""
    surplus = "SELECT resource_id FROM machines WHERE is_surplus"
    return truth.integer(f"SELECT sum(effective) FROM delivered_lines WHERE resource_id IN ({surplus})")


def _delay_bill(truth: Truth, fault: Fault, seed: int) -> int:
    """F8: the bill of one region ends early. At stake: the cost it does not contain yet."""
    missing = f"bill = 'eu' AND ends > {fault.starts(truth.cluster.month)}"
    stake = truth.integer(f"SELECT sum(effective) FROM delivered_lines WHERE {missing}")
    truth.run(f"DELETE FROM delivered_lines WHERE {missing}")
    return stake


def _preempt_spot(truth: Truth, fault: Fault, seed: int) -> int:
    """F2: spot machines were preempted. At stake: the cost of the lost time."""
    return sum(preempted for _, preempted in truth.lost_costs().values())


def _read_remotely(truth: Truth, fault: Fault, seed: int) -> int:
    """F3: jobs read from another region. At stake: the cost of all traffic between regions."""
    return truth.integer("SELECT sum(effective) FROM delivered_lines WHERE kind = 'egress'")


def _underreport_requests(truth: Truth, fault: Fault, seed: int) -> int:
    """F4: storage gets more requests than jobs report. The bill is correct; at stake: the unreported requests."""
    chosen = f"kind = 'requests' AND starts >= {fault.starts(truth.cluster.month)}"
    before = truth.integer("SELECT sum(effective) FROM true_lines WHERE kind = 'requests'")
    for table, names in (("true_lines", AMOUNTS[:3]), ("delivered_lines", AMOUNTS)):
        amounts = ", ".join(f"{name} = CAST({name} * {fault.size}::DECIMAL(9,3) AS HUGEINT)" for name in names)
        truth.run(f"UPDATE {table} SET {amounts} WHERE {chosen}")
    return truth.integer("SELECT sum(effective) FROM true_lines WHERE kind = 'requests'") - before


def _distort_time_entries(truth: Truth, fault: Fault, seed: int) -> int:
    """F9: time entries name a project that has ended (odd seeds), or have too many hours (even seeds)."""
    first = fault.starts(truth.cluster.month)
    chosen = f"day >= {first} AND hash(person, day, {seed}) % 1000 < {fault.times(1000)}"
    if seed % 2:
        truth.run(f"UPDATE labor SET project = 'project-of-last-year' WHERE {chosen}")
        return truth.integer(f"SELECT sum(hours * rate) * {UNITS} FROM labor WHERE project <> true_project")
    truth.run(f"UPDATE labor SET hours = 20 WHERE {chosen}")
    excess = f"(hours - {MAX_HOURS_PER_DAY})"
    return truth.integer(f"SELECT sum({excess} * rate) * {UNITS} FROM labor WHERE {excess} > 0")


def _add_license(truth: Truth, fault: Fault, seed: int) -> int:
    """F10: a new license. At stake: its cost."""
    price = fault.times(LICENSE_PRICE)
    started = fault.starts(truth.cluster.month)
    truth.run(f"INSERT INTO licenses VALUES ('Profiler cloud', {price}, {started}, {truth.cluster.end})")
    return int(price * UNITS)


_INJECTORS: dict[str, Callable[[Truth, Fault, int], int]] = {
    "F1": _lose_tags,
    "F2": _preempt_spot,
    "F3": _read_remotely,
    "F4": _underreport_requests,
    "F5": _duplicate,
    "F6": _distort_amortization,
    "F7": _start_surplus_machines,
    "F8": _delay_bill,
    "F9": _distort_time_entries,
    "F10": _add_license,
}
