-- List the lost and overhead cost of attempts with the numbers of their job and labels.
-- In: work, grain_attempts.
SELECT a.job, a.attempt_key, a."set", w.*
FROM work w JOIN grain_attempts a ON a.job_id = w.job_id AND a.attempt = w.attempt
