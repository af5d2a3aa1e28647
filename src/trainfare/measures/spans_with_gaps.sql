-- Find the spans of time for which targets with gaps are charged.
-- In: keyed_charges, time_charge_kinds, billed_targets. Out: disjoint spans per target.
WITH charged AS (
  SELECT DISTINCT k.target, epoch_second(c.period_start) AS starts,
    CASE WHEN end_second(c.period_start, c.period_end) - epoch_second(c.period_start) > 86400
      THEN least(end_second(c.period_start, c.period_end), k.through)
      ELSE end_second(c.period_start, c.period_end) END AS ends
  FROM keyed_charges c
  JOIN time_charge_kinds k ON k.kind = c.kind
  WHERE k.target IN (SELECT target FROM billed_targets WHERE has_gaps) AND c.period_end > c.period_start
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY target ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM charged WHERE ends > starts
),
islands AS (
  SELECT *, sum(CASE WHEN previous_end >= starts THEN 0 ELSE 1 END) OVER (
      PARTITION BY target ORDER BY starts, ends ROWS UNBOUNDED PRECEDING
    ) AS island
  FROM ordered
)
SELECT target, min(starts) AS starts, max(ends) AS ends FROM islands GROUP BY target, island
