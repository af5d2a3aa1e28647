-- In: what payers pay per group, and the jobs' rates and hours, as queries; digest_sets. Out: what cost gives, for one book by labels, and by sites where these are joined. Hours may be added up already, for each set of
-- labels.
WITH cost AS ({{group_costs}}),
rated AS ({{rated}}),
hours AS (
  SELECT CAST(sum(j.jobs) AS BIGINT) AS jobs, sum(j.wall) AS wall, sum(j.billed_wall) AS billed_wall, sum(j.gpu) AS gpu, sum(j.billed_gpu) AS billed_gpu,
    bool_or(j.gpu_unknown) AS gpu_unknown{{hold_keys}}
  FROM {{timed}} j JOIN digest_sets a ON a.book = j.book AND a."set" = j."set"{{job_sites}}
  WHERE j.wall IS NOT NULL AND {{only_holds}}
  GROUP BY ALL
),
spread AS (
  SELECT quantile_disc(j.rate, [0.5, 0.95]) AS rates{{hold_keys}}
  FROM rated j JOIN digest_sets a ON a.book = j.book AND a."set" = j."set"{{job_sites}}
  WHERE j.rate IS NOT NULL AND {{only_holds}}
  GROUP BY ALL
),
joined AS (
  SELECT CAST(c.cost AS DECIMAL(38,12)) AS cost, per_hour(CAST(c.cost AS DECIMAL(38,12)), {{priced}}) AS rate,
    h.jobs, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown{{either}}
  FROM cost c FULL JOIN hours h ON {{same_group}}
)
SELECT c.*, r.rates[1] AS rate_median, r.rates[2] AS rate_p95
FROM joined c LEFT JOIN spread r ON {{same_rate_group}}
ORDER BY {{order}}
