-- Sum the hours of each job by day and pattern of places, in seconds and millionths of GPU seconds.
-- In: what was held; the pieces of the jobs' time; their patterns.
-- Out: wall time and billed wall time stand under the pattern that was held or billed; GPU time under its place. The
-- wall time of a group is the sum over the patterns that have a place in it.
WITH spans AS (
  SELECT x.way, x.job, coalesce(n.pattern, x.places[1]) AS pattern, x.starts, x.ends, x.is_billed
  FROM {{intervals}} x LEFT JOIN {{patterns}} n ON len(x.places) > 1 AND n.places = x.places
),
cut AS (
  SELECT way, job, pattern, number, is_billed,
    least(ends, number * 86400 + 86400) - greatest(starts, number * 86400) AS seconds
  FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number FROM spans)
),
gpus AS (
  SELECT way, job, place, number, gpu_micros,
    least(ends, number * 86400 + 86400) - greatest(starts, number * 86400) AS seconds,
    CASE WHEN billed_starts IS NOT NULL THEN greatest(least(billed_ends, number * 86400 + 86400)
      - greatest(billed_starts, number * 86400), 0) END AS billed_seconds
  FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number FROM {{held}})
),
joined AS (
  SELECT way, job, pattern, number, CASE WHEN NOT is_billed THEN seconds END AS wall,
    CASE WHEN is_billed THEN seconds END AS billed_wall, CAST(NULL AS HUGEINT) AS gpu,
    CAST(NULL AS HUGEINT) AS billed_gpu, false AS gpu_unknown
  FROM cut
  UNION ALL
  SELECT way, job, place, number, NULL, NULL, CAST(seconds AS HUGEINT) * gpu_micros,
    CAST(billed_seconds AS HUGEINT) * gpu_micros, gpu_micros IS NULL
  FROM gpus
)
SELECT way, job, pattern, DATE '1970-01-01' + CAST(number AS INTEGER) AS day, CAST(sum(wall) AS BIGINT) AS wall,
  CAST(sum(billed_wall) AS BIGINT) AS billed_wall, CAST(sum(gpu) AS HUGEINT) AS gpu,
  CAST(sum(billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(gpu_unknown) AS gpu_unknown
FROM joined
GROUP BY way, job, pattern, number
ORDER BY job
