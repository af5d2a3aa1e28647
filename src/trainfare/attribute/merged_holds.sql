-- In: holds. Out: for each attempt, or for each attempt on each machine, the time in which it held anything, each second once, with a grip of 1.
WITH marked AS (
  SELECT target, attempt_key, machine, starts, ends,
    max(ends) OVER (PARTITION BY {{each}} ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM holds
),
islands AS (
  SELECT *, sum(CASE WHEN before >= starts THEN 0 ELSE 1 END) OVER (PARTITION BY {{each}} ORDER BY starts, ends
    ROWS UNBOUNDED PRECEDING) AS island
  FROM marked
)
SELECT target, attempt_key, min(starts) AS starts, max(ends) AS ends, 1 AS grip
FROM islands GROUP BY {{each}}, island
