"""Near misses: records that look like a failure mode and are in order, so that nothing may be found.

Every job still has its true cost, except under those that are `INEXACT`: their records are wrong, by less than what
matters.
"""

from collections.abc import Callable

from trainfare.simulate.clock import DAY
from trainfare.simulate.cluster.faults import Fault
from trainfare.simulate.cluster.truth import LICENSE_PRICE, Truth

INEXACT = ("N1", "N6")
"""Near misses whose wrong records change the cost of jobs."""
AMOUNTS = ("effective", "billed", "list")
OLD_POOL, OLD_ACCOUNT = "old-eu", "training-eu-old"


def apply(truth: Truth, code: str, fault: Fault, seed: int) -> None:
    """Change the records, and the truth where the company itself is different."""
    _NEAR_MISSES[code](truth, fault, seed)


def _lose_few_tags(truth: Truth, fault: Fault, seed: int) -> None:
    """N1: some lines lose their tags."""
    chosen = f"tags <> '' AND starts >= {fault.starts(truth.cluster.month)}"
    chosen += f" AND hash(resource_id, starts, {seed}) % 1000 < {fault.times(1000)}"
    truth.run(f"UPDATE delivered_lines SET tags = NULL, job_id = NULL WHERE {chosen}")


def _in_the_events(truth: Truth, fault: Fault, seed: int) -> None:
    """N2 and N7 are in the events of the cluster already."""


def _send_within_region(truth: Truth, fault: Fault, seed: int) -> None:
    """N3: jobs send data within their region, and pay for it."""
    chosen = f"NOT reads_remotely AND hash(job_id, {seed}) % 1000 < {fault.times(1000)}"
    truth.run(f"INSERT INTO local_senders SELECT job_id FROM jobs WHERE {chosen}")
    _add_lines(
        truth,
        "SELECT * REPLACE ('transfer' AS kind, 'transfer' AS sku, 'Networking' AS service_category, "
        "'Data Transfer' AS service, 'arn:transfer/' || job_id AS resource_id, 'transfer-' || job_id AS resource_name, "
        "'transfer within a region' AS description, effective * 10 AS effective, billed * 10 AS billed, "
        "list * 10 AS list) FROM true_lines WHERE kind = 'requests' "
        f"AND starts >= {fault.starts(truth.cluster.month)} AND job_id IN (SELECT job_id FROM local_senders)",
    )


def _report_more_requests(truth: Truth, fault: Fault, seed: int) -> None:
    """N4: jobs make more requests, report them, and pay for them."""
    start, factor = fault.starts(truth.cluster.month), fault.times(1)
    truth.parameters |= {"requests_start": str(start), "requests_factor": str(factor)}
    for table, names in (("true_lines", AMOUNTS), ("delivered_lines", (*AMOUNTS, "true_effective"))):
        amounts = ", ".join(f"{name} = {name} * {factor}" for name in names)
        truth.run(f"UPDATE {table} SET {amounts} WHERE kind = 'requests' AND starts >= {start}")


def _deliver_in_two_parts(truth: Truth, fault: Fault, seed: int) -> None:
    """N5: another bill continues the first (odd seeds), or another log has some of the same runs (even seeds)."""
    start = fault.starts(truth.cluster.month)
    if seed % 2:
        truth.resold_from = start
    else:
        truth.logged_again_from = start


def _amortize_one_day_differently(truth: Truth, fault: Fault, seed: int) -> None:
    """N6: on one day, covered usage costs less."""
    start = fault.starts(truth.cluster.month)
    chosen = f"commitment_status = 'Used' AND starts >= {start} AND starts < {start + DAY}"
    size = f"{fault.size}::DECIMAL(9,3)"
    truth.run(f"UPDATE delivered_lines SET effective = CAST(floor(true_effective * {size}) AS HUGEINT) WHERE {chosen}")


def _give_up_an_account(truth: Truth, fault: Fault, seed: int) -> None:
    """N8: machines of another account were idle until it was given up; the machine file lists them without an end."""
    end = fault.starts(truth.cluster.month)
    truth.run(
        f"INSERT INTO pools SELECT * REPLACE ('{OLD_POOL}' AS pool, '{OLD_ACCOUNT}' AS account) FROM pools "
        "WHERE bill = 'eu' ORDER BY pool LIMIT 1"
    )
    (model,) = truth.rows("SELECT min(resource_id) FROM delivered_lines WHERE kind = 'machine' AND bill = 'eu'")[0]
    for number in range(fault.times(1)):
        name = f"{OLD_POOL}-{number}"
        resource = f"arn:aws:ec2:old:{OLD_ACCOUNT}:instance/{name}"
        since = truth.cluster.start - DAY
        truth.run(f"INSERT INTO machines SELECT '{name}', '{resource}', '{OLD_POOL}', 8, {since}, {2**40}, false")
        _add_lines(
            truth,
            f"SELECT * EXCLUDE (hour) REPLACE ('{OLD_ACCOUNT}' AS account, '{resource}' AS resource_id, '{name}' AS resource_name, "
            "hour AS starts, hour + 3600 AS ends, NULL AS commitment_id, NULL AS commitment_status) "
            f"FROM (SELECT * FROM true_lines WHERE kind = 'machine' AND resource_id = '{model}' LIMIT 1) "
            f"CROSS JOIN (SELECT unnest(range({truth.cluster.start}, {end}, 3600)) AS hour)",
        )


def _enter_roles_only(truth: Truth, fault: Fault, seed: int) -> None:
    """N9: time entries name the role and no person."""
    truth.run(f"UPDATE labor SET person = NULL WHERE hash(person, day, {seed}) % 1000 < {fault.times(1000)}")


def _renew_license(truth: Truth, fault: Fault, seed: int) -> None:
    """N10: the license ends and is renewed."""
    renewed, price = fault.starts(truth.cluster.month), fault.times(LICENSE_PRICE)
    truth.run(f"UPDATE licenses SET ended = {renewed}")
    truth.run(f"INSERT INTO licenses VALUES ('Compiler suite', {price}, {renewed}, {truth.cluster.end})")


def _add_lines(truth: Truth, select: str) -> None:
    """Add lines to the correct bills and to the delivered ones."""
    truth.run(f"CREATE OR REPLACE TEMP TABLE added AS {select}")
    truth.run("INSERT INTO true_lines SELECT * FROM added")
    truth.run("INSERT INTO delivered_lines SELECT *, effective, false FROM added")


_NEAR_MISSES: dict[str, Callable[[Truth, Fault, int], None]] = {
    "N1": _lose_few_tags,
    "N2": _in_the_events,
    "N3": _send_within_region,
    "N4": _report_more_requests,
    "N5": _deliver_in_two_parts,
    "N6": _amortize_one_day_differently,
    "N7": _in_the_events,
    "N8": _give_up_an_account,
    "N9": _enter_roles_only,
    "N10": _renew_license,
}
