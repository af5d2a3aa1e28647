-- In: attempts, placed, jobs. Out: the measurements of the attempts: how busy, what was sent, requests, checkpoints and the step reached. Whoever measures has a clock of its own, which is up to half a minute
-- away from the scheduler's.
WITH days AS (
  SELECT number, job_id, attempt, hour // 86400 * 86400 AS day, sum(gpu_seconds) AS gpu_seconds, min(hour) AS first_hour
  FROM held_hours GROUP BY ALL
),
spans AS (
  SELECT d.*, j.is_far, j.home, j.region, greatest(a.started, d.day) AS starts, least(a.ended, d.day + 86400) AS ends
  FROM days d JOIN attempts a ON a.number = d.number JOIN jobs j ON j.job_id = d.job_id
),
saved AS (
  SELECT a.job_id, a.attempt, a.started + a.load + k.n * a.interval + (k.n - 1) * a.saving AS starts,
    a.started + a.load + k.n * (a.interval + a.saving) AS ends, (a.done + k.n * a.interval) // 10 AS value
  FROM (SELECT *, range(1, saved + 1) AS places FROM attempts) a, unnest(a.places) AS k(n)
)
SELECT job_id, attempt, text_of(starts + ahead) AS started, text_of(ends + ahead) AS ended, measure, value, from_region, to_region
FROM (SELECT *, CAST(hash(job_id, attempt) % 61 AS BIGINT) - 30 AS ahead FROM (
  SELECT job_id, attempt, starts, ends, 'gpu_busy_seconds' AS measure, gpu_seconds * 9 // 10 AS value, NULL AS from_region, NULL AS to_region FROM spans
  UNION ALL SELECT job_id, attempt, starts, ends, 'storage_requests', gpu_seconds * 35, NULL, NULL FROM spans
  UNION ALL SELECT job_id, attempt, starts, ends, 'bytes_sent', gpu_seconds * 4500000, home, region FROM spans WHERE is_far
  UNION ALL SELECT job_id, attempt, starts, ends, 'checkpoint', value, NULL, NULL FROM saved
  UNION ALL SELECT job_id, attempt, started + load, ended, 'step', reached // 10, NULL, NULL FROM attempts WHERE ended > started + load
))
WHERE ends > {{start}} AND starts < {{end}}
ORDER BY job_id, attempt, measure, starts
