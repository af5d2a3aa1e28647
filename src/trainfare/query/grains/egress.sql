-- List the network cost of attempts by where their bytes went, with the numbers of their job and labels.
-- In: egress, grain_attempts.
SELECT a.job, a.attempt_key, a."set", e.*
FROM egress e JOIN grain_attempts a ON a.job_id = e.job_id AND a.attempt = e.attempt
ORDER BY e.day
