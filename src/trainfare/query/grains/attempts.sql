-- List the attempts of a book with the number of their job and of their set of labels, job by job.
-- In: book_attempts, grain_sets.
WITH numbered AS (
  SELECT job_id, CAST(row_number() OVER (ORDER BY job_id) AS INTEGER) AS job
  FROM (SELECT DISTINCT job_id FROM book_attempts)
)
SELECT a.attempt_key, a.job_id, a.attempt, n.job, s."set", a.state, a.queued_from, a.queued_to
FROM book_attempts a
JOIN numbered n ON n.job_id = a.job_id
JOIN grain_sets s ON {{same_labels}} AND s.attempt_state IS NOT DISTINCT FROM a.state
ORDER BY n.job, a.attempt
