-- Join cost and hours of jobs per group, and divide one by the other.
-- In: queries for cost per group, and for cost and hours per job and group.
-- Out: per group the cost of jobs, their hours and rates. A group's rate is its cost over its hours, never the mean
-- of its members' rates.
WITH cost AS ({{group_costs}}),
facts AS ({{facts}}),
hours AS (
  SELECT count(*) AS jobs, sum(wall) AS wall, sum(billed_wall) AS billed_wall, sum(gpu) AS gpu,
    sum(billed_gpu) AS billed_gpu, bool_or(gpu_unknown) AS gpu_unknown{{held_names}}
  FROM facts WHERE wall IS NOT NULL GROUP BY ALL
),
spread AS (
  SELECT {{median}} AS rate_median, quantile_disc(h.rate, 0.95) AS rate_p95{{names}}
  FROM (SELECT per_hour(h.cost, {{priced}}) AS rate{{names}} FROM {{timed}} h) h WHERE h.rate IS NOT NULL GROUP BY ALL
),
joined AS (
  SELECT CAST(c.cost AS DECIMAL(38,12)) AS cost, per_hour(CAST(c.cost AS DECIMAL(38,12)), {{priced}}) AS rate,
    h.jobs, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown{{either}}
  FROM cost c {{joined}} JOIN hours h ON {{same_group}}
)
SELECT c.*, r.rate_median, r.rate_p95
FROM joined c LEFT JOIN spread r ON {{same_rate_group}}
ORDER BY {{order}}
