-- Find when training started in each attempt of a job with checkpoints, and when its last checkpoint ended.
-- In: attempt_summary, checkpoints, measured, usage_kinds. Out: one row per attempt; the last end is null without a
-- checkpoint. Training starts with the first measured step; without steps, it is computed back from the first
-- checkpoint at the job's own pace between checkpoints.
WITH known AS (
  SELECT attempt_key, job, attempt, starts, ends, is_first, interrupted FROM attempt_summary
  WHERE job IN (SELECT t.job FROM attempt_summary t JOIN checkpoints c ON c.attempt_key = t.attempt_key)
),
steps AS (
  SELECT attempt_key, min(starts) AS starts
  FROM measured WHERE kind IN (SELECT kind FROM usage_kinds WHERE measure = 'step') GROUP BY attempt_key
),
saved AS (
  SELECT attempt_key, min(starts) AS first_start, min(step) AS first_step, max(step) AS last_step, max(ends) AS last_end
  FROM checkpoints GROUP BY attempt_key
),
paces AS (
  SELECT t.job, CAST(sum(c.seconds_since) AS BIGINT) AS seconds, CAST(sum(c.steps_since) AS BIGINT) AS steps
  FROM checkpoints c JOIN attempt_summary t ON t.attempt_key = c.attempt_key
  WHERE c.steps_since > 0 GROUP BY t.job
),
resumed AS (
  SELECT k.*, v.first_start, v.first_step, v.last_end,
    coalesce(max(v.last_step) OVER (
      PARTITION BY k.job ORDER BY k.attempt ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS resumed_step
  FROM known k LEFT JOIN saved v ON v.attempt_key = k.attempt_key
)
SELECT r.attempt_key, r.job, r.starts, r.ends, r.is_first, r.interrupted, r.last_end,
  least(greatest(coalesce(s.starts,
    r.first_start
      - CAST(p.seconds * CAST(greatest(r.first_step - r.resumed_step, 0) AS HUGEINT) // p.steps AS BIGINT),
    r.starts), r.starts), r.ends, coalesce(r.first_start, r.ends)) AS training_start
FROM resumed r
LEFT JOIN steps s ON s.attempt_key = r.attempt_key
LEFT JOIN paces p ON p.job = r.job
