-- In: tries, training_starts, checkpoints, holdings, placements, machines. Out: for each job with checkpoints how long writing one takes, how far they are apart, how long a restart takes, and how many seconds
-- its machines run between two interruptions. Interruptions are counted over all attempts on machines of the pool, since one job has too few: a machine is interrupted as often as its
-- pool's machines are, and a job as often as all of its machines together.
WITH held AS (
  SELECT h.attempt_key, m.pool, h.machine_id, least(h.ends, t.ends) - h.starts AS seconds
  FROM holdings h
  JOIN tries t ON t.attempt_key = h.attempt_key
  LEFT JOIN (SELECT holding, min(machine) AS machine FROM placements GROUP BY holding) p ON p.holding = h.holding
  LEFT JOIN machines m ON m.machine = p.machine
),
tried AS (
  SELECT attempt_key, min(pool) AS pool, count(DISTINCT machine_id) AS machines, sum(seconds) AS machine_seconds FROM held GROUP BY attempt_key
),
pools AS (
  SELECT coalesce(r.pool, '') AS pool, CAST(sum(r.machine_seconds) AS BIGINT) AS machine_seconds,
    CAST(sum(CASE WHEN t.interrupted THEN 1 ELSE 0 END) AS BIGINT) AS interruptions
  FROM tried r JOIN tries t ON t.attempt_key = r.attempt_key GROUP BY coalesce(r.pool, '')
),
jobs AS (
  SELECT s.job, min(coalesce(r.pool, '')) AS pool, CAST(max(r.machines) AS BIGINT) AS machines,
    CAST(sum(CASE WHEN s.interrupted THEN 1 ELSE 0 END) AS BIGINT) AS interruptions,
    CAST(round(coalesce(avg(CASE WHEN NOT s.is_first THEN s.training_start - s.starts END), 0)) AS BIGINT) AS restart_seconds
  FROM training_starts s JOIN tried r ON r.attempt_key = s.attempt_key GROUP BY s.job
),
saved AS (
  SELECT t.job, count(*) AS checkpoints, CAST(sum(c.ends - c.starts) AS BIGINT) AS writing_seconds,
    CAST(sum(c.seconds_since) AS BIGINT) AS apart_seconds, count(c.seconds_since) AS gaps
  FROM checkpoints c JOIN tries t ON t.attempt_key = c.attempt_key GROUP BY t.job
)
SELECT j.job, s.checkpoints, j.interruptions, j.machines, j.restart_seconds, s.writing_seconds * 1000 // s.checkpoints AS writing_millis,
  CASE WHEN s.gaps > 0 THEN s.apart_seconds * 1000 // s.gaps END AS interval_millis,
  CASE WHEN p.interruptions > 0 THEN p.machine_seconds * 1000 // p.interruptions // j.machines END AS uptime_millis
FROM jobs j
JOIN saved s ON s.job = j.job
JOIN pools p ON p.pool = j.pool
