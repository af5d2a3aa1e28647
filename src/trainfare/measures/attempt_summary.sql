-- Summarize every attempt: when it ran, to which job it belongs, and whether it was interrupted.
-- In: attempts, holdings. Out: one row per attempt; job is the key of the job's first attempt. A running attempt has no
-- end. An attempt that a person stopped was interrupted only if another one followed. The attempts of a job are numbered
-- in order.
WITH ran AS (
  SELECT a.attempt_key, a.job_id, a.attempt, a.state, h.starts, h.ends
  FROM attempts a
  JOIN (
    SELECT attempt_key, min(starts) AS starts, max(ends) AS ends FROM holdings GROUP BY attempt_key
  ) h ON h.attempt_key = a.attempt_key
),
retried_jobs AS (
  SELECT job_id, min(attempt_key) AS first, max(attempt_key) AS last FROM ran GROUP BY job_id HAVING count(*) > 1
)
SELECT r.attempt_key, coalesce(t.first, r.attempt_key) AS job, r.job_id, r.attempt, r.starts, r.ends,
  coalesce(t.first = r.attempt_key, true) AS is_first,
  CASE
    WHEN r.state IN ('preempted', 'failed', 'node_failed', 'requeued', 'timeout') THEN true
    WHEN r.state IN ('canceled', 'unknown') THEN coalesce(r.attempt_key < t.last, false)
    ELSE false
  END AS interrupted
FROM ran r
LEFT JOIN retried_jobs t ON t.job_id = r.job_id
