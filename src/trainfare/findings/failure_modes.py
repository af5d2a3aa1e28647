"""The failure modes of cost accounts, F1 to F10: each is a query for the rows that show it, with the cost at stake.

Every row is stored, however small the amount. Whether it matters is decided when the book is checked, against the
limits set at that time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import pick, quoted, step_text
from trainfare.findings import fixing_settings, late_machines
from trainfare.period import Month

PACKAGE = "trainfare.findings.modes"
STORED_EVIDENCE = 1000
"""How many rows of evidence a book stores per failure mode, those with the most at stake first."""
TRAINING = "payer_kind <> 'outside'"
JOBS = "payer_kind = 'attempt'"
PREEMPTED_POOLS = """payer_kind = 'attempt' AND category = 'compute' AND resource_id IN (
  SELECT m.resource_id FROM machines m WHERE coalesce(m.pool, m.resource_id) IN (
    SELECT coalesce(t.pool, t.resource_id) FROM placements p
    JOIN spot_preemptions a ON a.attempt_key = p.attempt_key
    JOIN spot_machines s ON s.machine = p.machine
    JOIN machines t ON t.machine = p.machine
  )
)"""
"""Compute cost of jobs in pools with preempted spot machines."""
CHARGED_MACHINE = """machine IS NOT NULL AND category = 'compute' AND charge_category = 'Usage'
    AND origin IN ('bill', 'hardware', 'invoice') AND source NOT LIKE '% adjusting %'"""
"""What counts as a bill for a machine. A commitment's ledger only adds to the bill of the machines it covers."""
OPTIONAL_TABLES = {
    "spot_machines": "machine INTEGER, first_second BIGINT, last_second BIGINT",
    "spot_preemptions": "attempt_key INTEGER",
    "repeated_days": "delivery INTEGER, source VARCHAR, account VARCHAR, currency VARCHAR, day DATE, lines BIGINT, "
    "effective DECIMAL(38,12), first_delivery INTEGER, copies INTEGER",
    "machines_on_two_bills": "machine_id VARCHAR, sources VARCHAR, currency VARCHAR, effective DECIMAL(38,12)",
    "duplicate_runs": "attempt_key INTEGER, job_id VARCHAR, first_name VARCHAR, starts BIGINT",
    "committed_days": "commitment_id VARCHAR, item VARCHAR, currency VARCHAR, day DATE, effective BIGINT, list BIGINT",
    "storage_days": "account VARCHAR, service VARCHAR, currency VARCHAR, day DATE, effective BIGINT",
    "labor_costs": "delivery INTEGER, line BIGINT, currency VARCHAR, effective DECIMAL(38,12)",
}
"""Tables for which bill lines or job logs are read again; empty in a month that cannot show the failure mode."""


@dataclass(frozen=True)
class FailureMode:
    """A way in which accounts go wrong.

    `query` is the name of its SQL file; `limit` is the setting below [check] for the percentage of the total cost that
    is too much. `counted` is an SQL condition for what belongs to that total.
    """

    code: str
    query: str
    limit: str
    what: str
    cause: str
    remedy: str
    command: str
    counted: str = TRAINING


FAILURE_MODES = (
    FailureMode(
        "F1",
        "missing_attribution",
        "unallocated",
        "training cost without a payer",
        "resources without tags, tags under other names, or a service that no rule covers",
        "Tag these resources, map their tags below [labels], or add a rule; the suggested settings fix most of it.",
        "trainfare rules test",
    ),
    FailureMode(
        "F1-OWNERS",
        "missing_owners",
        "owner_coverage",
        "jobs without an owner: nobody is accountable for their cost",
        "the job log has no owner for them, or service accounts submit them",
        "Make the scheduler require an owner, or add the column to the job log.",
        "trainfare report --by owner --by project",
        JOBS,
    ),
    FailureMode(
        "F2",
        "spot_churn",
        "retry",
        "work lost because spot machines were preempted",
        "a spot market with frequent preemptions, or checkpoints too far apart for it",
        "Checkpoint more often, as `trainfare checkpoints` advises, or run long jobs on on-demand machines.",
        "trainfare report --by state",
        PREEMPTED_POOLS,
    ),
    FailureMode(
        "F3",
        "cross_region_egress",
        "egress",
        "jobs send data from one region to another",
        "datasets in a different region than the machines that read them",
        "Copy the data once to the region where it is read, or run these jobs in the region of their data.",
        "trainfare report --by category --by region",
    ),
    FailureMode(
        "F4",
        "unreported_io",
        "unreported_io",
        "storage costs more than the measured requests explain",
        "requests that no job reports: listings, retries, other tools on the same buckets",
        "Find out what else reads these buckets, and measure all requests of jobs.",
        "trainfare report --by day --by category",
    ),
    FailureMode(
        "F5",
        "double_counting",
        "counted_twice",
        "the same run, machine or export is counted twice",
        "one export under two names or in two file formats, a machine on two bills, or runs logged by two schedulers",
        "Keep only one of the files in the sources; remove the duplicate runs from one job log.",
        "trainfare reconcile --by source",
    ),
    FailureMode(
        "F6",
        "commitment_window",
        "commitment_step",
        "the effective price under a commitment differs from the month's usual one: it is amortized over the wrong period",
        "an upfront payment amortized over a different term than the purchased one, or not at all from some day on",
        "Compare the effective cost of these days with the purchase and its term; ask for a corrected export.",
        "trainfare report --by day --by category",
    ),
    FailureMode(
        "F7",
        "unbounded_autoscaler",
        "burst",
        "machines started in bursts and stayed idle",
        "an autoscaler without an upper bound, or one that counts jobs that cannot start",
        "Give the node group a maximum size and a short scale-down delay.",
        "trainfare report --by pool --by day",
    ),
    FailureMode(
        "F8",
        "delayed_billing",
        "not_billed",
        "machines were held after the bill for them ends: this time has no cost yet",
        "an export that is delayed, or has stopped, for some accounts",
        "Build again when the bill has arrived; if it does not arrive within two days, check the export.",
        "trainfare report --by day",
    ),
    FailureMode(
        "F9",
        "implausible_labor",
        "labor",
        "implausible time entries: a project without jobs, or more hours than a working day has",
        "a project that was renamed or has ended, or hours entered twice",
        "Have these entries corrected, and deliver the time sheet again.",
        "trainfare report --by category --by project",
    ),
    FailureMode(
        "F10",
        "new_licenses",
        "new_license",
        "licenses that did not cost anything before",
        "a new contract, or a trial that became paid",
        "Find out who ordered them; accept the finding if they are wanted.",
        "trainfare report --by category",
    ),
)


def run(engine: Engine, month: Month, labels: Mapping[str, Sequence[str]]) -> None:
    """Make `failure_modes`, one row per failure mode found and currency, and `failure_mode_evidence`, its rows.

    `labels` are the tags that the settings map, which suggested settings keep.
    """
    fragments = {
        "month": f"DATE '{month}-01'",
        "month_start": str(int(month.start.timestamp())),
        "log_end": str(late_machines.log_end(engine, month)),
    }
    for name, columns in OPTIONAL_TABLES.items():
        engine.values(name, columns, [])
    _find_spot_preemptions(engine, fragments)
    _find_copies(engine, fragments)
    _total_days(engine, fragments)
    _make_labor_entries(engine, month, fragments)
    rows = (
        f"SELECT {quoted(mode.code)} AS code, evidence, CAST(at_stake AS DECIMAL(38,12)) AS at_stake, currency "
        f"FROM (\n{step_text(PACKAGE, mode.query, pick(PACKAGE, mode.query, fragments))}\n)"
        for mode in FAILURE_MODES
    )
    engine.table("all_evidence", next(rows))
    for select in rows:
        engine.add("all_evidence", select)
    fixes = {"missing_attribution": fixing_settings.settings(engine, labels)}
    summaries = (_summary(mode, fixes.get(mode.query, "")) for mode in FAILURE_MODES)
    engine.table("failure_modes", " UNION ALL ".join(summaries))
    ranking = "row_number() OVER (PARTITION BY code ORDER BY abs(at_stake) DESC NULLS LAST, evidence)"
    engine.table(
        "failure_mode_evidence",
        f"SELECT code, evidence, at_stake, currency FROM all_evidence QUALIFY {ranking} <= {STORED_EVIDENCE}",
    )
    engine.drop("all_evidence", *OPTIONAL_TABLES, "exported_days", "machine_lines", "labor_entries", "late_machines")


def _summary(mode: FailureMode, fixes: str) -> str:
    """Return a SELECT with one row per currency: the cost at stake, and the total that it is a part of."""
    texts = {
        "code": mode.code,
        "limit_name": mode.limit,
        "what": mode.what,
        "cause": mode.cause,
        "remedy": mode.remedy,
        "command": mode.command,
        "fixes": fixes,
    }
    named = ", ".join(f"{quoted(text)} AS {name}" for name, text in texts.items())
    return (
        f"SELECT {named}, f.rows, CAST(f.at_stake AS DECIMAL(38,12)) AS at_stake, "
        "CAST(coalesce(w.total, 0) AS DECIMAL(38,12)) AS total, f.currency FROM ("
        "SELECT currency, count(*) AS rows, sum(at_stake) AS at_stake FROM all_evidence "
        f"WHERE code = {quoted(mode.code)} GROUP BY currency) f LEFT JOIN ("
        f"SELECT currency, sum(effective) AS total FROM cost_summary WHERE {mode.counted} GROUP BY currency"
        ") w ON w.currency = f.currency"
    )


def _count(engine: Engine, rows: str) -> int:
    return int(engine.row(f"SELECT count(*) FROM {rows}")[0])


def _find_spot_preemptions(engine: Engine, fragments: Mapping[str, str]) -> None:
    """Make `spot_machines` and `spot_preemptions`, if any attempt was preempted at all."""
    if _count(engine, "attempts WHERE state = 'preempted'"):
        engine.step(PACKAGE, "spot_machines", "spot_machines", {"month": fragments["month"]})
        engine.step(PACKAGE, "spot_preemptions", "spot_preemptions")


def _find_copies(engine: Engine, fragments: Mapping[str, str]) -> None:
    """Make `repeated_days`, `machines_on_two_bills` and `duplicate_runs`: what several files, bills or logs have."""
    first, last = engine.row("SELECT min(first_delivery), max(last_delivery) FROM routed_kinds")
    if first != last:
        engine.step(PACKAGE, "exported_days", "exported_days", {"month": fragments["month"]})
        if _count(engine, "exported_days"):
            engine.step(PACKAGE, "repeated_days", "repeated_days", {"month": fragments["month"]})
    several = f"SELECT machine FROM routed_kinds WHERE {CHARGED_MACHINE} GROUP BY machine"
    if _count(engine, f"({several} HAVING count(DISTINCT source) > 1)"):
        engine.step(PACKAGE, "machine_lines", "machine_lines", {"charged": CHARGED_MACHINE})
        engine.step(PACKAGE, "machines_on_two_bills", "machines_on_two_bills")
    if engine.row("SELECT count(DISTINCT log) FROM placement_rows")[0] > 1:
        engine.step(PACKAGE, "duplicate_runs", "duplicate_runs")


def _total_days(engine: Engine, fragments: Mapping[str, str]) -> None:
    """Make `committed_days`, if a commitment covers anything, and `storage_days`, if requests were measured."""
    if _count(engine, "routed_kinds WHERE commitment_status = 'Used'"):
        engine.step(PACKAGE, "committed_days", "committed_days", {"month": fragments["month"]})
    if _count(engine, "usage_kinds WHERE measure = 'storage_requests'"):
        engine.step(PACKAGE, "storage_days", "storage_days")


def _make_labor_entries(engine: Engine, month: Month, fragments: Mapping[str, str]) -> None:
    """Make `labor_entries`, the month's time entries, from the tables of the reader, and `labor_costs`."""
    reader, entries = engine.reader, []
    if reader.rows("SELECT 1 FROM information_schema.tables WHERE table_name = 'labor_rows'"):
        entries = reader.rows(
            "SELECT delivery, line, person, role, CAST(day AS DATE), project, hours FROM labor_rows "
            f"WHERE day >= TIMESTAMP '{month}-01' AND day < TIMESTAMP '{month.next()}-01'"
        )
    columns = (
        "delivery INTEGER, line BIGINT, person VARCHAR, role VARCHAR, day DATE, project VARCHAR, hours DECIMAL(18,6)"
    )
    engine.values("labor_entries", columns, entries)
    if entries:
        engine.step(PACKAGE, "labor_costs", "labor_costs", {"month": fragments["month"]})
