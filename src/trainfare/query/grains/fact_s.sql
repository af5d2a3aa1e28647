-- Sum cost and hours by job and labels over the whole book.
-- In: grain_fact_sd. Out: a job that has one row there has the same row here.
WITH added AS MATERIALIZED (
  SELECT job, pattern, "set", way, payer_number, {{sums}}, {{hour_sums}}
  FROM grain_fact_sd WHERE NOT alone GROUP BY job, pattern, "set", way, payer_number
),
single AS (
  SELECT job FROM added WHERE job IS NOT NULL GROUP BY job HAVING count(*) = 1
)
SELECT a.*, s.job IS NOT NULL AS alone FROM added a LEFT JOIN single s ON s.job = a.job
UNION ALL BY NAME
SELECT * EXCLUDE (day, alone_in_day) FROM grain_fact_sd WHERE alone
