-- List the time of attempts that is not kept work, that of one job beside each other.
-- In: book_work, grain_attempts.
SELECT a.job, a.attempt_key, a."set", w.*
FROM book_work w JOIN grain_attempts a ON a.job_id = w.job_id AND a.attempt = w.attempt
ORDER BY a.job, w.attempt, w.starts
