-- Join cost and hours of jobs per group, and divide one by the other.
-- In: queries for cost per group, and for cost and hours per job and group.
-- Out: per group the cost of jobs, their hours and rates. A group's rate is its cost over its hours, never the mean
-- of its members' rates; it counts what is billed in full. If nothing is, at_least is what is known over all hours.
WITH cost AS ({{group_costs}}),
facts AS ({{facts}}),
hours AS (
  SELECT count(*) AS jobs, sum(wall) AS wall, sum(billed_wall) AS billed_wall, sum(gpu) AS gpu,
    sum(billed_gpu) AS billed_gpu, bool_or(gpu_unknown) AS gpu_unknown{{held_names}}
  FROM facts WHERE wall IS NOT NULL GROUP BY ALL
),
spread AS (
  SELECT {{median}} AS rate_median, quantile_disc(h.rate, 0.95) AS rate_p95{{names}}
  FROM (SELECT per_hour(h.rate_cost, {{priced}}) AS rate{{names}} FROM {{timed}} h) h WHERE h.rate IS NOT NULL
  GROUP BY ALL
),
joined AS (
  SELECT CAST(c.cost AS DECIMAL(38,12)) AS cost, CAST(c.rate_cost AS DECIMAL(38,12)) AS rate_cost,
    per_hour(CAST(c.rate_cost AS DECIMAL(38,12)), {{priced}}) AS rate,
    per_hour(CAST(c.known_cost AS DECIMAL(38,12)), {{all_time}}) AS at_least,
    h.jobs, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown{{either}}
  FROM cost c {{joined}} JOIN hours h ON {{same_group}}
)
SELECT c.* REPLACE (CASE WHEN c.rate IS NULL THEN c.at_least END AS at_least), r.rate_median, r.rate_p95
FROM joined c LEFT JOIN spread r ON {{same_rate_group}}
ORDER BY {{order}}
