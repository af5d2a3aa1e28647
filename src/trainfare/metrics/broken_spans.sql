-- In: keyed_charges, timed_kinds, billed_targets. Out: the stretches of time for which targets with gaps are charged.
WITH told AS (
  SELECT DISTINCT k.target, epoch_second(c.period_start) AS starts, epoch_second(c.period_end) AS ends
  FROM keyed_charges c
  JOIN timed_kinds k ON k.kind = c.kind
  WHERE k.target IN (SELECT target FROM billed_targets WHERE has_gaps) AND c.period_end > c.period_start
),
marked AS (
  SELECT *, max(ends) OVER (PARTITION BY target ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM told
),
islands AS (
  SELECT *, sum(CASE WHEN before >= starts THEN 0 ELSE 1 END) OVER (PARTITION BY target ORDER BY starts, ends ROWS UNBOUNDED PRECEDING) AS island
  FROM marked
)
SELECT target, min(starts) AS starts, max(ends) AS ends FROM islands GROUP BY target, island
