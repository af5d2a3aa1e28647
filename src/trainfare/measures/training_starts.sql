-- Find when training started in each attempt of a job with checkpoints, and since when its work was lost.
-- In: attempt_summary, checkpoints, resumes, measured, usage_kinds. Out: one row per attempt. Training starts with the
-- first measured step; without steps, it is computed back from the first checkpoint at the job's own pace between
-- checkpoints. The work of an interrupted attempt is lost since the checkpoint from which a later attempt resumed, all
-- of it if that was an earlier attempt's, or none; without a later attempt, since its own last checkpoint. lost_from is
-- null where nothing was lost.
WITH known AS (
  SELECT attempt_key, job, starts, ends, is_first, interrupted FROM attempt_summary
  WHERE job IN (SELECT t.job FROM attempt_summary t JOIN checkpoints c ON c.attempt_key = t.attempt_key)
),
steps AS (
  SELECT attempt_key, min(starts) AS starts
  FROM measured WHERE kind IN (SELECT kind FROM usage_kinds WHERE measure = 'step') GROUP BY attempt_key
),
first_saved AS (
  SELECT attempt_key, starts, step FROM (
    SELECT *, row_number() OVER (PARTITION BY attempt_key ORDER BY starts, ends, step) AS place FROM checkpoints
  ) WHERE place = 1
),
last_saved AS (
  SELECT attempt_key, max(finished) AS finished FROM checkpoints GROUP BY attempt_key
),
paces AS (
  SELECT t.job, CAST(sum(c.seconds_since) AS BIGINT) AS seconds, CAST(sum(c.steps_since) AS BIGINT) AS steps
  FROM checkpoints c JOIN attempt_summary t ON t.attempt_key = c.attempt_key
  WHERE c.steps_since > 0 GROUP BY t.job
),
started AS (
  SELECT k.*,
    least(greatest(coalesce(s.starts,
      v.starts - CAST(p.seconds * CAST(greatest(v.step - coalesce(r.step, 0), 0) AS HUGEINT) // p.steps AS BIGINT),
      k.starts), k.starts), k.ends, coalesce(v.starts, k.ends)) AS training_start,
    min(CASE WHEN NOT k.is_first THEN coalesce(r.saved_by, 0) END) OVER (
      PARTITION BY k.job ORDER BY k.attempt_key ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS back_to
  FROM known k
  LEFT JOIN resumes r ON r.attempt_key = k.attempt_key
  LEFT JOIN steps s ON s.attempt_key = k.attempt_key
  LEFT JOIN first_saved v ON v.attempt_key = k.attempt_key
  LEFT JOIN paces p ON p.job = k.job
),
resumed AS (
  SELECT saved_by, min(finished) AS finished FROM resumes WHERE saved_by IS NOT NULL GROUP BY saved_by
)
SELECT t.attempt_key, t.job, t.starts, t.ends, t.is_first, t.interrupted, t.training_start,
  CASE
    WHEN NOT t.interrupted THEN NULL
    WHEN t.back_to IS NULL THEN coalesce(l.finished, t.training_start)
    WHEN t.back_to < t.attempt_key THEN t.training_start
    ELSE r.finished
  END AS lost_from
FROM started t
LEFT JOIN last_saved l ON l.attempt_key = t.attempt_key
LEFT JOIN resumed r ON r.saved_by = t.attempt_key
