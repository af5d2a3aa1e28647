-- In: what payers pay per group, as a query; digest_jobs, digest_hours, digest_job_costs, digest_sets. Out: what cost gives, for some days of one book by labels alone. A job that is within
-- these days has its whole hours and rate; only those that reach beyond them are added up day by day.
WITH cost AS ({{group_costs}}),
across AS (
  SELECT book, job, "set" FROM digest_jobs
  WHERE currency = {{currency}} AND first_day < {{last}} AND last_day >= {{first}} AND (first_day < {{first}} OR last_day >= {{last}})
),
across_hours AS (
  SELECT h.book, h.job, CAST(sum(h.wall) AS BIGINT) AS wall, CAST(sum(h.billed_wall) AS BIGINT) AS billed_wall, CAST(sum(h.gpu) AS HUGEINT) AS gpu,
    CAST(sum(h.billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(h.gpu_unknown) AS gpu_unknown
  FROM digest_hours h JOIN across x ON x.book = h.book AND x.job = h.job
  WHERE h.day >= {{first}} AND h.day < {{last}} GROUP BY h.book, h.job
),
across_costs AS (
  SELECT c.book, c.job, CAST(sum(c.{{basis}}) AS DECIMAL(38,12)) AS cost
  FROM (SELECT * FROM digest_job_costs WHERE {{where}}) c JOIN across x ON x.book = c.book AND x.job = c.job GROUP BY c.book, c.job
),
parts AS (
  SELECT j.book, j."set", {{job_rate}} AS rate, j.wall, j.billed_wall, j.gpu, j.billed_gpu, j.gpu_unknown
  FROM digest_jobs j WHERE j.currency = {{currency}} AND j.first_day >= {{first}} AND j.last_day < {{last}}
  UNION ALL
  SELECT x.book, x."set", per_hour(c.cost, {{priced}}) AS rate, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown
  FROM across x
  LEFT JOIN across_hours h ON h.book = x.book AND h.job = x.job
  LEFT JOIN across_costs c ON c.book = x.book AND c.job = x.job
),
hours AS (
  SELECT count(*) AS jobs, sum(j.wall) AS wall, sum(j.billed_wall) AS billed_wall, sum(j.gpu) AS gpu, sum(j.billed_gpu) AS billed_gpu,
    bool_or(j.gpu_unknown) AS gpu_unknown{{hold_keys}}
  FROM parts j JOIN digest_sets a ON a.book = j.book AND a."set" = j."set"
  WHERE j.wall IS NOT NULL AND {{only_holds}}
  GROUP BY ALL
),
spread AS (
  SELECT quantile_disc(j.rate, [0.5, 0.95]) AS rates{{hold_keys}}
  FROM parts j JOIN digest_sets a ON a.book = j.book AND a."set" = j."set"
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
