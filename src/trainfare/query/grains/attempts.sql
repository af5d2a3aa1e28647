-- List the attempts of a book with the number of their job and of their set of labels, job by job.
-- In: book_attempts, grain_sets, stored_placements. Out: last_day is the last day of which hours are known, if any.
WITH numbered AS (
  SELECT job_id, CAST(row_number() OVER (ORDER BY job_id) AS INTEGER) AS job
  FROM (SELECT DISTINCT job_id FROM book_attempts)
),
held AS (
  SELECT attempt_key, CAST((max(ends) - 1) // 86400 AS INTEGER) AS last_day,
    bool_or(running) AS is_running
  FROM stored_placements GROUP BY attempt_key
)
SELECT a.attempt_key, a.job_id, a.attempt, n.job, s."set", a.state, a.queued_from, a.queued_to, h.last_day,
  coalesce(h.is_running, a.state = 'running', false) AS is_running
FROM book_attempts a
JOIN numbered n ON n.job_id = a.job_id
JOIN grain_sets s ON {{same_labels}} AND s.attempt_state IS NOT DISTINCT FROM a.state
LEFT JOIN held h ON h.attempt_key = a.attempt_key
ORDER BY n.job, a.attempt
