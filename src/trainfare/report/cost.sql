-- In: shares, attempts, machines, book_placements. Out: per group the cost of jobs, their hours and rates. Wall time of a job is the union of its placements'
-- time within the group, GPU time the sum; a group's rate is its money over its hours, never the mean of its members' rates.
WITH cost AS (
  SELECT count(*) AS shares, sum(s.{{basis}}) AS cost{{share_keys}}
  FROM (SELECT * FROM {{shares}} WHERE payer_kind IN ('attempt', 'label')) s
  LEFT JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
  LEFT JOIN machines m ON m.resource_id = s.resource_id
  GROUP BY ALL
),
job_cost AS (
  SELECT s.job_id AS job, sum(s.{{basis}}) AS cost{{share_keys}}
  FROM (SELECT * FROM {{shares}} WHERE payer_kind = 'attempt') s
  LEFT JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
  LEFT JOIN machines m ON m.resource_id = s.resource_id
  GROUP BY ALL
),
whole AS (
  SELECT *, CAST(NULL AS DATE) AS day FROM {{placements}}
),
days AS (
  SELECT * REPLACE (greatest(starts, number * 86400) AS starts, least(ends, number * 86400 + 86400) AS ends,
    CASE WHEN billed_starts IS NOT NULL THEN greatest(billed_starts, number * 86400) END AS billed_starts,
    CASE WHEN billed_ends IS NOT NULL THEN least(billed_ends, number * 86400 + 86400) END AS billed_ends),
    DATE '1970-01-01' + CAST(number AS INTEGER) AS day
  FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number FROM {{placements}})
),
held AS (
  SELECT h.job_id AS job, h.starts, h.ends, h.gpu_micros,
    h.billed_starts, greatest(h.billed_starts, h.billed_ends) AS billed_ends{{hold_keys}}
  FROM {{spans}} h
  LEFT JOIN attempts a ON a.job_id = h.job_id AND a.attempt = h.attempt
  LEFT JOIN machines m ON m.resource_id = h.resource_id
),
marked AS (
  SELECT *,
    max(ends) OVER (PARTITION BY job{{held_names}} ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
    max(billed_ends) OVER (PARTITION BY job{{held_names}} ORDER BY billed_starts NULLS LAST, billed_ends
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS billed_before
  FROM held
),
job_hours AS (
  SELECT job{{held_names}},
    CAST(sum(greatest(ends - greatest(starts, coalesce(before, starts)), 0)) AS BIGINT) AS wall,
    CAST(coalesce(sum(greatest(billed_ends - greatest(billed_starts, coalesce(billed_before, billed_starts)), 0)), 0) AS BIGINT) AS billed_wall,
    CAST(sum(CAST(ends - starts AS HUGEINT) * gpu_micros) AS HUGEINT) AS gpu,
    CAST(coalesce(sum(CAST(billed_ends - billed_starts AS HUGEINT) * gpu_micros), 0) AS HUGEINT) AS billed_gpu,
    bool_or(gpu_micros IS NULL) AS gpu_unknown
  FROM marked
  GROUP BY job{{held_names}}
),
hours AS (
  SELECT count(*) AS jobs, sum(wall) AS wall, sum(billed_wall) AS billed_wall, sum(gpu) AS gpu, sum(billed_gpu) AS billed_gpu,
    bool_or(gpu_unknown) AS gpu_unknown{{held_names}}
  FROM job_hours GROUP BY ALL
),
job_rates AS (
  SELECT per_hour(CAST(c.cost AS DECIMAL(38,12)), {{priced}}) AS rate{{either}}
  FROM job_cost c JOIN job_hours h ON h.job = c.job AND {{same_group}}
),
spread AS (
  SELECT quantile_disc(rate, 0.5) AS rate_median, quantile_disc(rate, 0.95) AS rate_p95{{names}}
  FROM job_rates GROUP BY ALL
),
joined AS (
  SELECT CAST(c.cost AS DECIMAL(38,12)) AS cost, per_hour(CAST(c.cost AS DECIMAL(38,12)), {{priced}}) AS rate,
    h.jobs, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown{{either}}
  FROM cost c {{joined}} JOIN hours h ON {{same_group}}
)
SELECT c.*, r.rate_median, r.rate_p95
FROM joined c LEFT JOIN spread r ON {{same_rate_group}}
ORDER BY {{order}}
