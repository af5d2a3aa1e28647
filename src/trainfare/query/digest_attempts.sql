-- In: book_attempts, digest_sets. Out: the job's number and the label set of each attempt, by job.
WITH numbered AS (
  SELECT job_id, CAST(row_number() OVER (ORDER BY job_id) AS INTEGER) AS job FROM (SELECT DISTINCT job_id FROM book_attempts)
)
SELECT a.attempt_key, a.job_id, a.attempt, n.job, s."set", a.state, a.queued_from, a.queued_to
FROM book_attempts a
JOIN numbered n ON n.job_id = a.job_id
JOIN digest_sets s ON {{same_labels}}
ORDER BY n.job, a.attempt
