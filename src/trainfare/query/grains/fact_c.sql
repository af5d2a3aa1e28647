-- Sum cost and hours by job, labels and site over the whole book.
-- In: grain_fact_cd.
WITH added AS MATERIALIZED (
  SELECT job, pattern, "set", site, way, payer_number, {{sums}}, {{hour_sums}}
  FROM grain_fact_cd GROUP BY job, pattern, "set", site, way, payer_number
),
single AS (
  SELECT job FROM added WHERE job IS NOT NULL GROUP BY job HAVING count(*) = 1
)
SELECT a.*, s.job IS NOT NULL AS alone FROM added a LEFT JOIN single s ON s.job = a.job
