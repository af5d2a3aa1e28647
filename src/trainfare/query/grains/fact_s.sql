-- Sum cost and hours by job and labels over the whole book.
-- In: grain_fact_c, grain_coarser_s.
WITH added AS MATERIALIZED (
  SELECT f.job, c.coarser AS pattern, f."set", f.way, f.payer_number, {{sums}}, {{hour_sums}}
  FROM grain_fact_c f LEFT JOIN grain_coarser_s c ON c.pattern = f.pattern
  GROUP BY f.job, c.coarser, f."set", f.way, f.payer_number
),
single AS (
  SELECT job FROM added WHERE job IS NOT NULL GROUP BY job HAVING count(*) = 1
)
SELECT a.*, s.job IS NOT NULL AS alone FROM added a LEFT JOIN single s ON s.job = a.job
