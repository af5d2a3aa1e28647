-- In: measured, usage_kinds, tries. Out: the checkpoints that were finished while their attempt ran, each step once, however many machines told of it; with the work and the steps since
-- the one before in the same attempt (null for the first). Clocks may differ by a minute. Time in which two were written counts once.
WITH told AS (
  SELECT u.attempt_key, CAST(u.value AS BIGINT) AS step, min(least(greatest(u.starts, t.starts), t.ends)) AS starts,
    max(greatest(least(u.ends, t.ends), t.starts)) AS ends
  FROM measured u JOIN tries t ON t.attempt_key = u.attempt_key
  WHERE u.kind IN (SELECT kind FROM usage_kinds WHERE measure = 'checkpoint') AND u.starts >= t.starts - 60 AND u.ends <= t.ends + 60
  GROUP BY u.attempt_key, CAST(u.value AS BIGINT)
),
ordered AS (
  SELECT *, max(ends) OVER (PARTITION BY attempt_key ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
    lag(step) OVER (PARTITION BY attempt_key ORDER BY starts, ends) AS step_before
  FROM told
)
SELECT attempt_key, step, greatest(starts, coalesce(before, starts)) AS starts, greatest(ends, coalesce(before, ends)) AS ends,
  CASE WHEN before IS NOT NULL THEN greatest(starts - before, 0) END AS seconds_since, step - step_before AS steps_since
FROM ordered
