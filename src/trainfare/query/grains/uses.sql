-- List how busy the GPUs were that each attempt held of each machine, with the numbers of its job and labels.
-- In: the use of GPUs, grain_attempts.
SELECT a.job, a.attempt_key, a."set", u.*
FROM ({{uses}}) u JOIN grain_attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
ORDER BY a.job
