"""The ways in which accounts of training go wrong, F1 to F10: each a query for the rows that show it, with the money at stake.

Every row found is kept, however little is at stake; which of it matters is decided when the book is checked, by the limits of that day.
"""

import json
from dataclasses import dataclass

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted, step_text
from trainfare.period import Month

PACKAGE = "trainfare.metrics.modes"
KEPT_EVIDENCE = 1000
TRAINING = "payer_kind <> 'outside'"
JOBS = "payer_kind = 'attempt'"
TAKEN_POOLS = """payer_kind = 'attempt' AND category = 'compute' AND resource_id IN (
  SELECT m.resource_id FROM machines m WHERE coalesce(m.pool, m.resource_id) IN (
    SELECT coalesce(t.pool, t.resource_id) FROM placements p
    JOIN attempts a ON a.attempt_key = p.attempt_key JOIN machines t ON t.machine = p.machine WHERE a.state = 'preempted'
  )
)"""
"""Compute of jobs in pools whose machines are taken away."""


@dataclass(frozen=True)
class Failure:
    """A way to fail. `query` is its file, `limit` the setting below [check] that says how much of `whole` is too much."""

    code: str
    query: str
    limit: str
    what: str
    cause: str
    remedy: str
    command: str
    whole: str = TRAINING


FAILURES = (
    Failure(
        "F1",
        "missing_attribution",
        "unallocated",
        "cost of training for which no payer was found",
        "resources without tags, tags under other names, or a service no rule speaks of",
        "Tag these resources, name their tags below [labels], or add a rule; see what would repair most of it.",
        "trainfare rules test",
    ),
    Failure(
        "F1-OWNERS",
        "missing_owners",
        "owner_coverage",
        "jobs name no owner: nobody answers for their cost",
        "the job log has no owner for them, or service accounts submit them",
        "Have the scheduler require an owner, or add the column to the job log.",
        "trainfare report --by owner --by project",
        JOBS,
    ),
    Failure(
        "F2",
        "spot_churn",
        "retry",
        "work was lost because spot machines were taken away",
        "a market that takes machines back often, or checkpoints too far apart for it",
        "Save more often, as `trainfare checkpoints` advises, or move long jobs to machines that stay.",
        "trainfare report --by state",
        TAKEN_POOLS,
    ),
    Failure(
        "F3",
        "cross_region_egress",
        "egress",
        "jobs send data from one region to another",
        "data sets in another region than the machines that read them",
        "Copy the data once to the region where it is read, or run these jobs where their data is.",
        "trainfare report --by category --by region",
    ),
    Failure(
        "F4",
        "unreported_io",
        "unreported_io",
        "storage costs more than the measured requests explain",
        "requests that no job reports: listings, retries, other tools on the same buckets",
        "Look for who else reads these buckets, and measure all requests of jobs.",
        "trainfare report --by day --by category",
    ),
    Failure(
        "F5",
        "double_counting",
        "counted_twice",
        "the same run, machine or export is counted twice",
        "one export under two names or in two packings, a machine on two bills, or runs logged by two schedulers",
        "Keep one of the files in the sources; take the copied runs out of one job log.",
        "trainfare reconcile --by source",
    ),
    Failure(
        "F6",
        "commitment_window",
        "commitment_step",
        "what a commitment covers changes its price within the month: it is spread over the wrong time",
        "an upfront payment amortised over another term than it was bought for, or not at all from some day on",
        "Compare the effective cost of these days with the purchase and its term; ask for a corrected export.",
        "trainfare report --by day --by category",
    ),
    Failure(
        "F7",
        "unbounded_autoscaler",
        "burst",
        "machines came up in bursts and stood without work",
        "an autoscaler without an upper bound, or one that counts jobs that cannot start",
        "Give the node group a maximum size and a short time to scale down.",
        "trainfare report --by pool --by day",
    ),
    Failure(
        "F8",
        "delayed_billing",
        "not_billed",
        "the bill ends before the job log does: this time has no cost yet",
        "an export that is delayed, or stopped, for some accounts",
        "Build again when the bill has come; if it does not come within two days, look at the export.",
        "trainfare report --by day",
    ),
    Failure(
        "F9",
        "unfit_labour",
        "labour",
        "time entries do not fit: a project that nobody trains for, or more hours than a day of work has",
        "a project that was renamed or ended, or hours entered twice",
        "Have these entries corrected, and deliver the time sheet again.",
        "trainfare report --by category --by project",
    ),
    Failure(
        "F10",
        "new_licences",
        "new_licence",
        "licences cost money that cost none before",
        "a new contract, a trial that became paid, or seats that somebody added",
        "Ask who ordered them; accept the finding if they are wanted.",
        "trainfare report --by category",
    ),
)


def run(engine: Engine, month: Month) -> None:
    """Make `failures`, one row for each that shows and each currency, and `failure_rows`, the evidence."""
    given = {
        "month": f"DATE '{month}-01'",
        "month_start": str(int(month.start.timestamp())),
        "month_end": str(int(month.end.timestamp())),
    }
    _find_repeated_days(engine, given)
    _find_committed_days(engine, given)
    _find_stored_days(engine)
    _find_entries(engine, month)
    rows = (
        f"SELECT {quoted(one.code)} AS code, evidence, CAST(at_stake AS DECIMAL(38,12)) AS at_stake, currency "
        f"FROM (\n{step_text(PACKAGE, one.query, given)}\n)"
        for one in FAILURES
    )
    engine.table("failure_evidence", next(rows))
    for each in rows:
        engine.add("failure_evidence", each)
    engine.table("failures", " UNION ALL ".join(_summed(one, _repairs(engine, one)) for one in FAILURES))
    place = "row_number() OVER (PARTITION BY code ORDER BY abs(at_stake) DESC NULLS LAST, evidence)"
    engine.table(
        "failure_rows",
        f"SELECT code, evidence, at_stake, currency FROM failure_evidence QUALIFY {place} <= {KEPT_EVIDENCE}",
    )
    engine.drop("failure_evidence", "repeated_days", "committed_days", "stored_days", "labour_entries")


def _summed(failure: Failure, repairs: str) -> str:
    """One row per currency: what is at stake, and the money it is a part of."""
    texts = {
        "code": failure.code,
        "limit_name": failure.limit,
        "what": failure.what,
        "cause": failure.cause,
        "remedy": failure.remedy,
        "command": failure.command,
        "repairs": repairs,
    }
    named = ", ".join(f"{quoted(text)} AS {name}" for name, text in texts.items())
    return (
        f"SELECT {named}, f.rows, CAST(f.at_stake AS DECIMAL(38,12)) AS at_stake, "
        "CAST(coalesce(w.whole, 0) AS DECIMAL(38,12)) AS whole, f.currency FROM ("
        "SELECT currency, count(*) AS rows, sum(at_stake) AS at_stake FROM failure_evidence "
        f"WHERE code = {quoted(failure.code)} GROUP BY currency) f LEFT JOIN ("
        f"SELECT currency, sum(effective) AS whole FROM spent WHERE {failure.whole} GROUP BY currency"
        ") w ON w.currency = f.currency"
    )


def _find_repeated_days(engine: Engine, given: dict[str, str]) -> None:
    """Make `repeated_days`. Lines are read again only if several files have charges of the month."""
    first, last = engine.row("SELECT min(first_delivery), max(last_delivery) FROM routed_kinds")
    if first != last:
        engine.step(PACKAGE, "exported_days", "exported_days", given)
    else:
        engine.values("exported_days", "source VARCHAR", [])
    if engine.row("SELECT count(*) FROM exported_days")[0]:
        engine.step(PACKAGE, "repeated_days", "repeated_days", given)
    else:
        columns = "source VARCHAR, account VARCHAR, currency VARCHAR, day DATE, lines BIGINT, effective DECIMAL(38,12), copies INTEGER"
        engine.values("repeated_days", columns, [])
    engine.drop("exported_days")


def _find_committed_days(engine: Engine, given: dict[str, str]) -> None:
    """Make `committed_days`. Lines are read again only if any kind of charge is covered by a commitment."""
    if engine.row("SELECT count(*) FROM routed_kinds WHERE commitment_status = 'Used'")[0]:
        engine.step(PACKAGE, "committed_days", "committed_days", given)
    else:
        columns = "commitment_id VARCHAR, sku_id VARCHAR, currency VARCHAR, day DATE, effective BIGINT, list BIGINT"
        engine.values("committed_days", columns, [])


def _find_stored_days(engine: Engine) -> None:
    """Make `stored_days`. Lines are read again only if requests were measured that they could be compared with."""
    if engine.row("SELECT count(*) FROM usage_kinds WHERE measure = 'storage_requests'")[0]:
        engine.step(PACKAGE, "stored_days", "stored_days")
    else:
        columns = "account VARCHAR, service VARCHAR, currency VARCHAR, day DATE, effective BIGINT"
        engine.values("stored_days", columns, [])


def _find_entries(engine: Engine, month: Month) -> None:
    """Make `labour_entries`: the month's time entries, which the reader of files has."""
    reader, found = engine.reader, []
    if reader.rows("SELECT 1 FROM information_schema.tables WHERE table_name = 'labour_rows'"):
        found = reader.rows(
            "SELECT coalesce(person, role), CAST(day AS DATE), project, hours, rate, currency FROM labour_rows "
            f"WHERE day >= TIMESTAMP '{month}-01' AND day < TIMESTAMP '{month.next()}-01'"
        )
    columns = "who VARCHAR, day DATE, project VARCHAR, hours DECIMAL(18,6), rate DECIMAL(38,12), currency VARCHAR"
    engine.values("labour_entries", columns, found)


def _repairs(engine: Engine, failure: Failure) -> str:
    """Settings that would give most of the money a payer, for a user to take over."""
    if failure.query != "missing_attribution":
        return ""
    labels = engine.records(step_text(PACKAGE, "label_repairs"))
    told = [
        f"# would give {one['repaired']:,.2f} {one['currency']} a payer\n[labels]\n"
        f"{one['label']} = {json.dumps([one['label'], one['key']])}"
        for one in labels
        if one["key"] != one["label"]
    ]
    for one in engine.records(step_text(PACKAGE, "rule_repairs")):
        account = f", account = {json.dumps(one['account'])}" if one["account"] else ""
        name = f"{one['service']} of {one['account'] or 'all'}"
        told.append(
            f"# would give {one['repaired']:,.2f} {one['currency']} payers\n[[rule]]\n"
            f"name = {json.dumps(name)}\nmatch = {{ service = {json.dumps(one['service'])}{account} }}\n"
            f'among = "{"account" if one["has_jobs"] else "all"}"\nby = "gpu_seconds"'
        )
    return "\n\n".join(told)
