-- In: usage_rows, attempts, machine_names, machines. Out: what was measured about the attempts, in whole seconds. A row delivered twice counts once. machine is null
-- where the attempt as a whole was measured, or a machine that nobody knows.
SELECT a.attempt_key, min(m.machine) AS machine, u.starts, u.ends, u.measure, u.value, u.from_region, u.to_region
FROM (
  SELECT DISTINCT job_id, attempt, lower(machine_id) AS name, epoch_second(started) AS starts, epoch_second(ended) AS ends, measure, value,
    lower(from_region) AS from_region, lower(to_region) AS to_region
  FROM usage_rows
) u
JOIN attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
LEFT JOIN machine_names n ON n.name = u.name AND n.existed_from <= u.starts AND n.existed_to > u.starts
LEFT JOIN machines m ON m.resource = n.resource
GROUP BY a.attempt_key, u.name, u.starts, u.ends, u.measure, u.value, u.from_region, u.to_region
