-- List the checkpoints that were finished while their attempt ran.
-- In: measured, usage_kinds, attempt_summary. Out: one row per attempt, step and time of writing: several machines that
-- report the same step at the same time wrote one checkpoint, and a step that was saved again is another. finished is
-- when it was; starts and ends are the time in which no earlier one was written too, so these never overlap; with the
-- time and the steps since the previous one in the same attempt (null for the first). Clocks may differ by a minute.
WITH reported AS (
  SELECT u.attempt_key, CAST(u.value AS BIGINT) AS step, least(greatest(u.starts, t.starts), t.ends) AS starts,
    greatest(least(u.ends, t.ends), t.starts) AS ends
  FROM measured u JOIN attempt_summary t ON t.attempt_key = u.attempt_key
  WHERE u.kind IN (SELECT kind FROM usage_kinds WHERE measure = 'checkpoint')
    AND u.starts >= t.starts - 60 AND u.ends <= t.ends + 60
),
marked AS (
  SELECT *, max(ends) OVER (
      PARTITION BY attempt_key, step ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS reported_to
  FROM reported
),
islands AS (
  SELECT *, sum(CASE WHEN reported_to >= starts THEN 0 ELSE 1 END) OVER (
      PARTITION BY attempt_key, step ORDER BY starts, ends ROWS UNBOUNDED PRECEDING
    ) AS island
  FROM marked
),
saved AS (
  SELECT attempt_key, step, min(starts) AS starts, max(ends) AS ends FROM islands GROUP BY attempt_key, step, island
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY attempt_key ORDER BY starts, ends, step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end,
    lag(step) OVER (PARTITION BY attempt_key ORDER BY starts, ends, step) AS previous_step
  FROM saved
)
SELECT attempt_key, step, ends AS finished, greatest(starts, coalesce(previous_end, starts)) AS starts,
  greatest(ends, coalesce(previous_end, ends)) AS ends,
  CASE WHEN previous_end IS NOT NULL THEN greatest(starts - previous_end, 0) END AS seconds_since,
  step - previous_step AS steps_since
FROM ordered
