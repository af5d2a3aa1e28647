-- Split holdings that the bill covers with gaps into the parts that it covers without one.
-- In: placements, attempts, machines, billed_spans, billed_coverage. Out: each covered part, with the time it stands
-- for: up to the next part, and for the first part also all time before.
WITH spans AS (
  SELECT * FROM (
    {{overlaps}}
  )
  WHERE starts IS NOT NULL AND holding IN (SELECT holding FROM billed_coverage WHERE spans > 1)
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY holding ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM spans
),
islands AS (
  SELECT *, sum(CASE WHEN previous_end >= starts THEN 0 ELSE 1 END) OVER (
      PARTITION BY holding ORDER BY starts, ends ROWS UNBOUNDED PRECEDING
    ) AS island
  FROM ordered
),
parts AS (
  SELECT holding, island, min(starts) AS first_second, max(ends) AS last_second FROM islands GROUP BY holding, island
)
SELECT holding, first_second, last_second,
  CASE WHEN island > 1 THEN first_second ELSE {{month_start}} END AS from_second,
  coalesce(lead(first_second) OVER (PARTITION BY holding ORDER BY first_second), {{month_end}}) AS to_second
FROM parts
