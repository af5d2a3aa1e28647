-- List the measurements of attempts with the numbers of their job and labels.
-- In: book_usage, grain_attempts.
SELECT a.job, a.attempt_key, a."set", u.*
FROM book_usage u JOIN grain_attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
ORDER BY u.measure, u.day
