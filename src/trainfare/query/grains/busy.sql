-- Replace the GPUs that placements held by the GPUs that were busy on average while the attempt ran.
-- In: grain_placed, grain_usage.
-- Out: the placements; their number of GPUs is null if it was not measured.
WITH busy AS (
  SELECT attempt_key, CAST(sum(value) * 1000000 AS HUGEINT) AS micros
  FROM grain_usage WHERE measure = 'gpu_busy_seconds' GROUP BY attempt_key
),
held AS (
  SELECT attempt_key, sum(CAST(ends - starts AS HUGEINT) * gpu_micros) AS micros
  FROM grain_placed GROUP BY attempt_key
)
SELECT p.* REPLACE (CAST(p.gpu_micros * b.micros // nullif(h.micros, 0) AS BIGINT) AS gpu_micros)
FROM grain_placed p
JOIN held h ON h.attempt_key = p.attempt_key
LEFT JOIN busy b ON b.attempt_key = p.attempt_key
