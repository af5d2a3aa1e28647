-- Sum cost and hours by job, labels and day.
-- In: grain_fact_cd, grain_coarser_s.
WITH added AS MATERIALIZED (
  SELECT f.job, c.coarser AS pattern, f."set", f.day, f.way, f.payer_number, {{sums}}, {{hour_sums}}
  FROM grain_fact_cd f LEFT JOIN grain_coarser_s c ON c.pattern = f.pattern
  GROUP BY f.job, c.coarser, f."set", f.day, f.way, f.payer_number
),
single AS (
  SELECT job FROM added WHERE job IS NOT NULL GROUP BY job HAVING count(*) = 1
)
SELECT a.*, s.job IS NOT NULL AS alone FROM added a LEFT JOIN single s ON s.job = a.job
ORDER BY a.day, a.job
