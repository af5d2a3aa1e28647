-- Merge the holds of each attempt on each target, so that every second counts once.
-- In: holds. Out: holds that do not overlap.
WITH marked AS (
  SELECT target, attempt_key, starts, ends,
    max(ends) OVER (
      PARTITION BY target, attempt_key ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before
  FROM holds
),
islands AS (
  SELECT *, sum(CASE WHEN before >= starts THEN 0 ELSE 1 END) OVER (
      PARTITION BY target, attempt_key ORDER BY starts, ends ROWS UNBOUNDED PRECEDING
    ) AS island
  FROM marked
)
SELECT target, attempt_key, min(starts) AS starts, max(ends) AS ends, {{wall_weight}} AS held_amount
FROM islands GROUP BY target, attempt_key, island
