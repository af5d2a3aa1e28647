-- Count the measurements in the month of attempts that are in no job log.
-- In: keyed_usage. Out: one row per job and attempt.
SELECT unknown_job AS job_id, unknown_attempt AS attempt, count(*) AS rows
FROM keyed_usage
WHERE attempt_key IS NULL AND starts < epoch_second({{month}} + INTERVAL 1 MONTH) AND ends >= epoch_second({{month}})
GROUP BY unknown_job, unknown_attempt
