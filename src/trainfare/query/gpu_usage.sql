-- Compute how busy the GPUs were that each attempt held on each machine.
-- In: placements, usage.
-- Out: per attempt and machine, from when to when, and the held and the busy GPU time in millionths of GPU seconds. A
-- measurement of an entire attempt is split across its machines by the GPU time held on each. Attempts without
-- measurements have no rows.
WITH busy AS (
  SELECT job_id, attempt, resource_id, CAST(sum(value) * 1000000 AS HUGEINT) AS busy
  FROM {{usage}} WHERE measure = 'gpu_busy_seconds' GROUP BY job_id, attempt, resource_id
),
held AS (
  SELECT p.job_id, p.attempt, p.resource_id, min(p.machine_id) AS machine_id,
    min(p.starts) AS starts, max(p.ends) AS ends,
    CAST(sum(CAST(p.ends - p.starts AS HUGEINT) * p.gpu_micros) AS HUGEINT) AS held
  FROM {{placements}} p
  SEMI JOIN busy b ON b.job_id = p.job_id AND b.attempt = p.attempt
  WHERE p.resource_id IS NOT NULL AND p.gpu_micros > 0 GROUP BY p.job_id, p.attempt, p.resource_id
),
held_in_total AS (
  SELECT *, CAST(sum(held) OVER (PARTITION BY job_id, attempt) AS HUGEINT) AS attempt_held FROM held
)
SELECT h.job_id, h.attempt, h.resource_id, h.machine_id, h.starts, h.ends, h.held,
  coalesce(m.busy, a.busy * h.held // h.attempt_held) AS busy
FROM held_in_total h
LEFT JOIN busy m ON m.job_id = h.job_id AND m.attempt = h.attempt AND m.resource_id = h.resource_id
LEFT JOIN busy a ON a.job_id = h.job_id AND a.attempt = h.attempt AND a.resource_id IS NULL
WHERE h.held > 0 AND coalesce(m.busy, a.busy) IS NOT NULL
