-- In: digest_jobs, digest_hours, digest_job_costs. Out: the jobs that reach beyond the days asked about, with what they cost and held within these.
WITH across AS (
  SELECT book, job, "set" FROM digest_jobs
  WHERE currency = {{currency}} AND first_day < {{last}} AND last_day >= {{first}} AND (first_day < {{first}} OR last_day >= {{last}})
),
hours AS (
  SELECT h.book, h.job, CAST(sum(h.wall) AS BIGINT) AS wall, CAST(sum(h.billed_wall) AS BIGINT) AS billed_wall, CAST(sum(h.gpu) AS HUGEINT) AS gpu,
    CAST(sum(h.billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(h.gpu_unknown) AS gpu_unknown
  FROM digest_hours h JOIN across x ON x.book = h.book AND x.job = h.job
  WHERE h.day >= {{first}} AND h.day < {{last}} GROUP BY h.book, h.job
),
costs AS (
  SELECT c.book, c.job, CAST(sum(c.{{basis}}) AS DECIMAL(38,12)) AS cost
  FROM (SELECT * FROM digest_job_costs WHERE {{where}}) c JOIN across x ON x.book = c.book AND x.job = c.job GROUP BY c.book, c.job
)
SELECT x.book, x.job, x."set", c.cost, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown
FROM across x
LEFT JOIN hours h ON h.book = x.book AND h.job = x.job
LEFT JOIN costs c ON c.book = x.book AND c.job = x.job
