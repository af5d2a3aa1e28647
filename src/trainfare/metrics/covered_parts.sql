-- In: placements, attempts, machines, billed_spans, covered. Out: of holdings with several spans each stretch of time that the bill covers without a gap, and the time that it stands for: up to the next stretch, and for the
-- first also all time before.
WITH told AS (
  SELECT * FROM (
    {{coverage}}
  )
  WHERE starts IS NOT NULL AND holding IN (SELECT holding FROM covered WHERE spans > 1)
),
marked AS (
  SELECT *, max(ends) OVER (PARTITION BY holding ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM told
),
islands AS (
  SELECT *, sum(CASE WHEN before >= starts THEN 0 ELSE 1 END) OVER (PARTITION BY holding ORDER BY starts, ends ROWS UNBOUNDED PRECEDING) AS island
  FROM marked
),
stretches AS (
  SELECT holding, island, min(starts) AS first_second, max(ends) AS last_second FROM islands GROUP BY holding, island
)
SELECT holding, first_second, last_second, CASE WHEN island > 1 THEN first_second ELSE {{month_start}} END AS from_second,
  coalesce(lead(first_second) OVER (PARTITION BY holding ORDER BY first_second), {{month_end}}) AS to_second
FROM stretches
