-- Measure how each job with checkpoints saves its work, and how often its machines are interrupted.
-- In: attempt_summary, training_starts, checkpoints, holdings, placements, machines. Out: per job, the time to write a
-- checkpoint, the time between two, the time of a restart, and the machines' time between two interruptions. These are
-- counted over all attempts on machines of the pool, since one job has too few: a machine is interrupted as often as
-- the machines of its pool are, and a job as often as all of its machines together.
WITH held AS (
  SELECT h.attempt_key, m.pool, h.machine_id, CASE WHEN h.running THEN greatest({{complete_through}} - h.starts, 0) ELSE h.ends - h.starts END AS seconds
  FROM holdings h
  LEFT JOIN (SELECT holding, min(machine) AS machine FROM placements GROUP BY holding) p ON p.holding = h.holding
  LEFT JOIN machines m ON m.machine = p.machine
),
attempt_machines AS (
  SELECT attempt_key, min(pool) AS pool, count(DISTINCT machine_id) AS machines, sum(seconds) AS machine_seconds
  FROM held GROUP BY attempt_key
),
pools AS (
  SELECT coalesce(r.pool, '') AS pool, CAST(sum(r.machine_seconds) AS BIGINT) AS machine_seconds,
    CAST(sum(CASE WHEN t.interrupted THEN 1 ELSE 0 END) AS BIGINT) AS interruptions
  FROM attempt_machines r JOIN attempt_summary t ON t.attempt_key = r.attempt_key
  GROUP BY coalesce(r.pool, '')
),
jobs AS (
  SELECT s.job, min(coalesce(r.pool, '')) AS pool, CAST(max(r.machines) AS BIGINT) AS machines,
    CAST(sum(CASE WHEN s.interrupted THEN 1 ELSE 0 END) AS BIGINT) AS interruptions,
    CAST(round(coalesce(avg(CASE WHEN NOT s.is_first THEN s.training_start - s.starts END), 0)) AS BIGINT)
      AS restart_seconds
  FROM training_starts s JOIN attempt_machines r ON r.attempt_key = s.attempt_key GROUP BY s.job
),
saved AS (
  SELECT t.job, count(*) AS checkpoints, CAST(sum(c.ends - c.starts) AS BIGINT) AS writing_seconds,
    CAST(sum(c.seconds_since) AS BIGINT) AS interval_seconds, count(c.seconds_since) AS intervals
  FROM checkpoints c JOIN attempt_summary t ON t.attempt_key = c.attempt_key GROUP BY t.job
)
SELECT j.job, s.checkpoints, j.interruptions, j.machines, j.restart_seconds,
  s.writing_seconds * 1000 // s.checkpoints AS writing_millis,
  CASE WHEN s.intervals > 0 THEN s.interval_seconds * 1000 // s.intervals END AS interval_millis,
  CASE WHEN p.interruptions > 0 THEN p.machine_seconds * 1000 // p.interruptions // j.machines END AS uptime_millis
FROM jobs j
JOIN saved s ON s.job = j.job
JOIN pools p ON p.pool = j.pool
