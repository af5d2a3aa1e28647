-- List the checkpoints that were finished while their attempt ran.
-- In: measured, usage_kinds, attempt_summary. Out: each step once, however many machines reported it; with the time and
-- the steps since the previous one in the same attempt (null for the first). Clocks may differ by a minute. Time in
-- which two checkpoints were written counts once.
WITH reported AS (
  SELECT u.attempt_key, CAST(u.value AS BIGINT) AS step, min(least(greatest(u.starts, t.starts), t.ends)) AS starts,
    max(greatest(least(u.ends, t.ends), t.starts)) AS ends
  FROM measured u JOIN attempt_summary t ON t.attempt_key = u.attempt_key
  WHERE u.kind IN (SELECT kind FROM usage_kinds WHERE measure = 'checkpoint')
    AND u.starts >= t.starts - 60 AND u.ends <= t.ends + 60
  GROUP BY u.attempt_key, CAST(u.value AS BIGINT)
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY attempt_key ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end,
    lag(step) OVER (PARTITION BY attempt_key ORDER BY starts, ends) AS previous_step
  FROM reported
)
SELECT attempt_key, step, greatest(starts, coalesce(previous_end, starts)) AS starts,
  greatest(ends, coalesce(previous_end, ends)) AS ends,
  CASE WHEN previous_end IS NOT NULL THEN greatest(starts - previous_end, 0) END AS seconds_since,
  step - previous_step AS steps_since
FROM ordered
