-- In: tries, checkpoints, measured, usage_kinds. Out: for each attempt of a job with checkpoints, when its training started, and its last checkpoint's end (null without one). The first span of steps tells the
-- start; without steps it is reckoned back from the first checkpoint, by the job's own pace between checkpoints.
WITH known AS (
  SELECT attempt_key, job, attempt, starts, ends, is_first, interrupted FROM tries WHERE job IN (SELECT t.job FROM tries t JOIN checkpoints c ON c.attempt_key = t.attempt_key)
),
steps AS (
  SELECT attempt_key, min(starts) AS starts FROM measured WHERE kind IN (SELECT kind FROM usage_kinds WHERE measure = 'step') GROUP BY attempt_key
),
saved AS (
  SELECT attempt_key, min(starts) AS first_start, min(step) AS first_step, max(step) AS last_step, max(ends) AS last_end
  FROM checkpoints GROUP BY attempt_key
),
paces AS (
  SELECT t.job, CAST(sum(c.seconds_since) AS BIGINT) AS seconds, CAST(sum(c.steps_since) AS BIGINT) AS steps
  FROM checkpoints c JOIN tries t ON t.attempt_key = c.attempt_key
  WHERE c.steps_since > 0 GROUP BY t.job
),
resumed AS (
  SELECT k.*, v.first_start, v.first_step, v.last_end,
    coalesce(max(v.last_step) OVER (PARTITION BY k.job ORDER BY k.attempt ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS resumed_at
  FROM known k LEFT JOIN saved v ON v.attempt_key = k.attempt_key
)
SELECT r.attempt_key, r.job, r.starts, r.ends, r.is_first, r.interrupted, r.last_end,
  least(greatest(coalesce(s.starts,
    r.first_start - CAST(p.seconds * CAST(greatest(r.first_step - r.resumed_at, 0) AS HUGEINT) // p.steps AS BIGINT),
    r.starts), r.starts), r.ends, coalesce(r.first_start, r.ends)) AS training_start
FROM resumed r
LEFT JOIN steps s ON s.attempt_key = r.attempt_key
LEFT JOIN paces p ON p.job = r.job
