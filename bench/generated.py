"""Generate a large month for benchmarks: a FOCUS bill, a job log and a machine list as Parquet, written by DuckDB.

Machines have 8 GPUs. Seven of ten run jobs that hold the entire machine, one after another, half of these in groups of
eight machines with the same job; three of ten are shared by four lanes of two GPUs. Each machine has three bill lines
an hour. A file of measurements has the busy GPU time and the bytes sent of every placement, and a step and a checkpoint
of every job.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb

HOURS = 720
START = "TIMESTAMPTZ '2026-10-01 00:00:00+00'"
PLACEMENTS_PER_MACHINE = 230


@dataclass(frozen=True)
class GeneratedMonth:
    bill: Path
    jobs: Path
    machines: Path
    lines: int
    placements: int


def generate_month(folder: Path, machines: int) -> GeneratedMonth:
    """Write the three files for this many machines; deterministic."""
    folder.mkdir(parents=True, exist_ok=True)
    made = GeneratedMonth(
        folder / "bill.parquet", folder / "jobs.parquet", folder / "machines.parquet", machines * HOURS * 3, 0
    )
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
        engine.execute(f"COPY ({_bill(machines)}) TO '{made.bill}' (FORMAT parquet, COMPRESSION zstd)")
        engine.execute(f"COPY ({_jobs(machines)}) TO '{made.jobs}' (FORMAT parquet, COMPRESSION zstd)")
        engine.execute(f"COPY ({_machines(machines)}) TO '{made.machines}' (FORMAT parquet, COMPRESSION zstd)")
        (placements,) = engine.execute(f"SELECT count(*) FROM '{made.jobs}'").fetchone() or (0,)
    return GeneratedMonth(made.bill, made.jobs, made.machines, made.lines, placements)


def generate_measurements(jobs: Path, into: Path) -> None:
    """Write the measurements of these jobs."""
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
        engine.execute(f"COPY ({_measurements(jobs)}) TO '{into}' (FORMAT parquet, COMPRESSION zstd)")


def _measurements(jobs: Path) -> str:
    columns = "job_id, attempt, machine_id, started, ended"
    return f"""
      SELECT {columns}, 'gpu_busy_seconds' AS measure, epoch(ended - started) * gpus * 0.8 AS value, '' AS from_region, '' AS to_region
      FROM '{jobs}'
      UNION ALL
      SELECT {columns}, 'bytes_sent', hash(job_id) % 1000000000, 'us-east-1', 'eu-west-' || hash(machine_id) % 3 FROM '{jobs}'
      UNION ALL
      SELECT job_id, attempt, '', min(started) + INTERVAL 2 MINUTE, min(started) + INTERVAL 3 MINUTE, 'step', 1, '', ''
      FROM '{jobs}' GROUP BY job_id, attempt
      UNION ALL
      SELECT job_id, attempt, '', min(started) + INTERVAL 20 MINUTE, min(started) + INTERVAL 21 MINUTE, 'checkpoint', 100, '', ''
      FROM '{jobs}' GROUP BY job_id, attempt
    """


def _resource(machine: str) -> str:
    return f"'arn:aws:ec2:us-east-1:123456789012:instance/i-' || lpad(to_hex({machine}), 17, '0')"


def _bill(machines: int) -> str:
    price = "(98320000 + (m * 7919 + h * 104729 + k * 1299709) % 1000000) // CASE k WHEN 0 THEN 1 WHEN 1 THEN 50 ELSE 200 END"
    return f"""
      SELECT '123456789012' AS BillingAccountId, 'sub-' || (m % 20) AS SubAccountId, 'USD' AS BillingCurrency,
        {START} AS BillingPeriodStart, {START} + INTERVAL 1 MONTH AS BillingPeriodEnd,
        {START} + to_hours(h) AS ChargePeriodStart, {START} + to_hours(h + 1) AS ChargePeriodEnd,
        'Usage' AS ChargeCategory, CAST(NULL AS VARCHAR) AS ChargeClass,
        CASE k WHEN 0 THEN 'Compute' WHEN 1 THEN 'Storage' ELSE 'Networking' END AS ServiceCategory,
        CASE k WHEN 0 THEN 'Amazon Elastic Compute Cloud' WHEN 1 THEN 'Amazon Elastic Block Store' ELSE 'AWS Data Transfer' END
          AS ServiceName,
        'AWS' AS ProviderName, {_resource("m")} AS ResourceId, 'us-east-' || (m % 2 + 1) AS RegionId, 'SKU' || k AS SkuId,
        'p5.48xlarge part ' || k AS ChargeDescription, '{{"InstanceType": "p5.48xlarge"}}' AS SkuPriceDetails,
        '{{"Name": "gpu-' || m || '"}}' AS Tags,
        CAST(units * 0.000001::DECIMAL(6,6) AS DECIMAL(38,12)) AS BilledCost,
        CAST(units * 0.0000009::DECIMAL(7,7) AS DECIMAL(38,12)) AS EffectiveCost,
        CAST(units * 0.0000012::DECIMAL(7,7) AS DECIMAL(38,12)) AS ListCost,
        CAST(units * 0.0000011::DECIMAL(7,7) AS DECIMAL(38,12)) AS ContractedCost
      FROM (SELECT m, h, k, {price} AS units FROM range({HOURS}) t(h), range({machines}) s(m), range(3) r(k))
    """


def _jobs(machines: int) -> str:
    """Return lanes of consecutive jobs; in a group of eight machines a job has eight placements in one lane."""
    per_lane = PLACEMENTS_PER_MACHINE
    return f"""
      WITH lanes AS (
        SELECT m, CASE WHEN m % 10 >= 7 THEN lane ELSE 0 END AS lane, m % 10 >= 7 AS shared,
          CASE WHEN m % 10 < 7 AND m // 80 % 2 = 0 THEN 'g' || (m // 80) || '-' || (m % 10) ELSE 'm' || m || '-' || lane END AS name
        FROM range({machines}) t(m), range(4) s(lane) WHERE lane = 0 OR m % 10 >= 7
      ),
      tries AS (
        SELECT DISTINCT name, shared, j,
          (1800 + hash(name, j) % 17000)::BIGINT * CASE WHEN shared THEN 4 ELSE 1 END AS seconds,
          (hash(j, name, 1) % 1900)::BIGINT AS gap
        FROM lanes, range({per_lane}) r(j) WHERE NOT shared OR j < {per_lane // 4}
      ),
      placed AS (
        SELECT *, sum(seconds + gap) OVER (PARTITION BY name ORDER BY j) - seconds AS starts FROM tries
      )
      SELECT 'job-' || p.name || '-' || p.j AS job_id, CAST(1 AS INTEGER) AS attempt,
        'i-' || lpad(to_hex(l.m), 17, '0') AS machine_id,
        {START} + to_seconds(p.starts) AS started, {START} + to_seconds(least(p.starts + p.seconds, {HOURS * 3600})) AS ended,
        CAST(CASE WHEN p.shared THEN 2 ELSE 8 END AS DECIMAL(18,6)) AS gpus, 'completed' AS state,
        'owner-' || (hash(p.name) % 200) AS owner, 'team-' || (hash(p.name) % 12) AS team
      FROM placed p JOIN lanes l ON l.name = p.name
      WHERE p.starts < {HOURS * 3600}
    """


def _machines(machines: int) -> str:
    return f"""
      SELECT 'i-' || lpad(to_hex(m), 17, '0') AS machine_id, {_resource("m")} AS resource_id, CAST(8 AS DECIMAL(18,6)) AS gpus,
        'pool-' || (m % 7) AS pool, 'us-east-' || (m % 2 + 1) AS region
      FROM range({machines}) t(m)
    """
