-- In: attempts, holdings. Out: every attempt of a job in its order, with the number of the job's first as the job's: from when to when it ran, and whether it was interrupted. Who still runs has run up to where the bill is
-- complete. An attempt that a person stopped was interrupted only if another one followed.
SELECT attempt_key, job, job_id, attempt, starts, ends, place = 1 AS is_first,
  CASE
    WHEN state IN ('preempted', 'failed', 'node_failed', 'requeued', 'timeout') THEN true
    WHEN state IN ('cancelled', 'unknown') THEN place < tries
    ELSE false
  END AS interrupted
FROM (
  SELECT a.attempt_key, a.job_id, a.attempt, a.state, h.starts, h.ends,
    row_number() OVER (PARTITION BY a.job_id ORDER BY a.attempt) AS place,
    count(*) OVER (PARTITION BY a.job_id) AS tries,
    min(a.attempt_key) OVER (PARTITION BY a.job_id) AS job
  FROM attempts a
  JOIN (
    SELECT attempt_key, min(starts) AS starts, max(CASE WHEN running THEN greatest({{complete_through}}, starts) ELSE ends END) AS ends
    FROM holdings GROUP BY attempt_key
  ) h ON h.attempt_key = a.attempt_key
)
