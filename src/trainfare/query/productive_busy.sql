-- Replace the GPUs that placements held by the GPUs that were busy on average while the attempt ran.
-- In: book_placements, book_usage.
-- Out: the placements; their number of GPUs is null if it was not measured.
WITH busy AS (
  SELECT job_id, attempt, CAST(sum(value) * 1000000 AS HUGEINT) AS micros
  FROM book_usage WHERE measure = 'gpu_busy_seconds' GROUP BY job_id, attempt
),
held AS (
  SELECT job_id, attempt, sum(CAST(ends - starts AS HUGEINT) * gpu_micros) AS micros
  FROM book_placements GROUP BY job_id, attempt
)
SELECT p.* REPLACE (CAST(p.gpu_micros * b.micros // nullif(h.micros, 0) AS BIGINT) AS gpu_micros)
FROM book_placements p
JOIN held h ON h.job_id = p.job_id AND h.attempt = p.attempt
LEFT JOIN busy b ON b.job_id = p.job_id AND b.attempt = p.attempt
