-- Select the measurements of the attempts: busy GPU seconds, requests, bytes sent, checkpoints and the step reached.
-- The clock of the measurements is up to half a minute off the scheduler's.
-- In: attempts, held_hours, jobs.
WITH days AS (
  SELECT number, job_id, attempt, hour // 86400 * 86400 AS day, sum(gpu_seconds) AS gpu_seconds, min(hour) AS first_hour
  FROM held_hours GROUP BY ALL
),
spans AS (
  SELECT d.*, j.reads_remotely, j.home, j.region, greatest(a.started, d.day) AS starts,
    least(a.ended, d.day + 86400) AS ends
  FROM days d JOIN attempts a ON a.number = d.number JOIN jobs j ON j.job_id = d.job_id
),
checkpoints AS (
  SELECT a.job_id, a.attempt, a.started + a.load + k.n * a.interval + (k.n - 1) * a.saving AS starts,
    a.started + a.load + k.n * (a.interval + a.saving) AS ends, (a.done + k.n * a.interval) // 10 AS value
  FROM (SELECT *, range(1, saved + 1) AS numbers FROM attempts) a, unnest(a.numbers) AS k(n)
),
measured AS (
  SELECT job_id, attempt, starts, ends, 'gpu_busy_seconds' AS measure, gpu_seconds * 9 // 10 AS value,
    NULL AS from_region, NULL AS to_region
  FROM spans
  UNION ALL
  SELECT job_id, attempt, starts, ends, 'storage_requests',
    gpu_seconds * 35 * CASE WHEN day >= {{requests_start}} THEN {{requests_factor}} ELSE 1 END, NULL, NULL
  FROM spans
  UNION ALL
  SELECT job_id, attempt, starts, ends, 'bytes_sent', gpu_seconds * 4500000, home, region
  FROM spans WHERE reads_remotely
  UNION ALL
  SELECT job_id, attempt, starts, ends, 'bytes_sent', gpu_seconds * 4500000, region, region
  FROM spans WHERE job_id IN (SELECT job_id FROM local_senders)
  UNION ALL SELECT job_id, attempt, starts, ends, 'checkpoint', value, NULL, NULL FROM checkpoints
  UNION ALL
  SELECT job_id, attempt, started + load, ended, 'step', reached // 10, NULL, NULL
  FROM attempts WHERE ended > started + load
)
SELECT job_id, attempt, utc_text(starts + clock_offset) AS started, utc_text(ends + clock_offset) AS ended, measure,
  value, from_region, to_region
FROM (SELECT *, CAST(hash(job_id, attempt) % 61 AS BIGINT) - 30 AS clock_offset FROM measured)
WHERE ends > {{start}} AND starts < {{end}}
ORDER BY job_id, attempt, measure, starts
