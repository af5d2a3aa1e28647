-- Give each measurement the numbers of its attempt and of its kind, in whole seconds.
-- In: usage_rows, usage_kinds, attempts, job_names. Out: one row per measurement; without a matching attempt in a job log, the
-- attempt's number is null and its name is kept.
SELECT a.attempt_key, CASE WHEN a.attempt_key IS NULL THEN u.job_id END AS unknown_job,
  CASE WHEN a.attempt_key IS NULL THEN u.attempt END AS unknown_attempt,
  lower(u.machine_id) AS name, epoch_second(u.started) AS starts, epoch_second(u.ended) AS ends, k.kind, u.value
FROM usage_rows u
JOIN usage_kinds k ON k.measure = u.measure AND k.from_region IS NOT DISTINCT FROM lower(u.from_region)
  AND k.to_region IS NOT DISTINCT FROM lower(u.to_region)
LEFT JOIN job_names n ON n.name = u.job_id
LEFT JOIN attempts a ON a.job_id = coalesce(n.job_id, u.job_id) AND a.attempt = u.attempt
