-- In: digest_placements. Out: the hours of each job by day, in seconds and millionths of GPU seconds. Wall time is the union of the
-- placements' time, GPU time the sum.
WITH days AS (
  SELECT p.job, p.gpu_micros, number,
    greatest(p.starts, number * 86400) AS starts, least(p.ends, number * 86400 + 86400) AS ends,
    CASE WHEN p.billed_starts IS NOT NULL THEN greatest(p.billed_starts, number * 86400) END AS billed_starts,
    CASE WHEN p.billed_ends IS NOT NULL THEN least(p.billed_ends, number * 86400 + 86400) END AS billed_ends
  FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number FROM digest_placements) p
),
held AS (
  SELECT * REPLACE (greatest(billed_starts, billed_ends) AS billed_ends) FROM days
),
marked AS (
  SELECT *,
    max(ends) OVER (PARTITION BY job, number ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
    max(billed_ends) OVER (PARTITION BY job, number ORDER BY billed_starts NULLS LAST, billed_ends
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS billed_before
  FROM held
)
SELECT job, DATE '1970-01-01' + CAST(number AS INTEGER) AS day,
  CAST(sum(greatest(ends - greatest(starts, coalesce(before, starts)), 0)) AS BIGINT) AS wall,
  CAST(coalesce(sum(greatest(billed_ends - greatest(billed_starts, coalesce(billed_before, billed_starts)), 0)), 0) AS BIGINT) AS billed_wall,
  CAST(sum(CAST(ends - starts AS HUGEINT) * gpu_micros) AS HUGEINT) AS gpu,
  CAST(coalesce(sum(CAST(billed_ends - billed_starts AS HUGEINT) * gpu_micros), 0) AS HUGEINT) AS billed_gpu,
  bool_or(gpu_micros IS NULL) AS gpu_unknown
FROM marked
GROUP BY job, number
ORDER BY number, job
