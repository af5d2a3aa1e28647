-- Sum the hours of each job per group.
-- In: the selected placements, with labels and machines joined to them.
-- Out: the wall time of a job is the union of the times of its placements within the group, its GPU time their sum.
WITH undivided AS (
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
  FROM {{spans}} h{{hold_joins}}
),
marked AS (
  SELECT *,
    max(ends) OVER (PARTITION BY job{{held_names}} ORDER BY starts, ends
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
    max(billed_ends) OVER (PARTITION BY job{{held_names}} ORDER BY billed_starts NULLS LAST, billed_ends
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS billed_before
  FROM held
)
SELECT job{{held_names}},
  CAST(sum(greatest(ends - greatest(starts, coalesce(before, starts)), 0)) AS BIGINT) AS wall,
  CAST(coalesce(sum(greatest(billed_ends - greatest(billed_starts, coalesce(billed_before, billed_starts)), 0)), 0)
    AS BIGINT) AS billed_wall,
  CAST(sum(CAST(ends - starts AS HUGEINT) * gpu_micros) AS HUGEINT) AS gpu,
  CAST(coalesce(sum(CAST(billed_ends - billed_starts AS HUGEINT) * gpu_micros), 0) AS HUGEINT) AS billed_gpu,
  bool_or(gpu_micros IS NULL) AS gpu_unknown
FROM marked
GROUP BY job{{held_names}}
