-- In: usage_rows, attempts. Out: what was measured, with the number of its attempt, in whole seconds. Where no job log has the attempt, its number is null and it keeps its name.
SELECT a.attempt_key, CASE WHEN a.attempt_key IS NULL THEN u.job_id END AS unknown_job, CASE WHEN a.attempt_key IS NULL THEN u.attempt END AS unknown_attempt,
  lower(u.machine_id) AS name, epoch_second(u.started) AS starts, epoch_second(u.ended) AS ends, u.measure, u.value,
  lower(u.from_region) AS from_region, lower(u.to_region) AS to_region
FROM usage_rows u LEFT JOIN attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
