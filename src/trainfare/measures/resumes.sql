-- Find the checkpoint from which each attempt of a job with checkpoints resumed.
-- In: attempt_summary, checkpoints, measured, usage_kinds. Out: one row per attempt after the first; the checkpoint of
-- an earlier attempt with the largest step below the first one trained, or, if no step is known, the last one finished.
-- The attempt that wrote it is null where the attempt started over.
WITH known AS (
  SELECT attempt_key, job, is_first FROM attempt_summary
  WHERE job IN (SELECT t.job FROM attempt_summary t JOIN checkpoints c ON c.attempt_key = t.attempt_key)
),
first_steps AS (
  SELECT attempt_key, min(CAST(value AS BIGINT)) AS step
  FROM measured WHERE kind IN (SELECT kind FROM usage_kinds WHERE measure = 'step') GROUP BY attempt_key
),
saved AS (
  SELECT k.job, c.attempt_key, c.step, max(c.finished) AS finished
  FROM checkpoints c JOIN known k ON k.attempt_key = c.attempt_key
  GROUP BY k.job, c.attempt_key, c.step
),
ranked AS (
  SELECT k.attempt_key, s.attempt_key AS saved_by, s.step, s.finished, row_number() OVER (
      PARTITION BY k.attempt_key
      ORDER BY CASE WHEN f.step IS NOT NULL THEN s.step END DESC, s.attempt_key DESC, s.finished DESC, s.step DESC
    ) AS place
  FROM known k
  LEFT JOIN first_steps f ON f.attempt_key = k.attempt_key
  JOIN saved s ON s.job = k.job AND s.attempt_key < k.attempt_key AND coalesce(s.step < f.step, true)
)
SELECT k.attempt_key, k.job, r.saved_by, r.step, r.finished
FROM known k
LEFT JOIN (SELECT * FROM ranked WHERE place = 1) r ON r.attempt_key = k.attempt_key
WHERE NOT k.is_first
