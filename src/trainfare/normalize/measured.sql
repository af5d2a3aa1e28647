-- List the measurements of attempts, with the machine they were made on.
-- In: keyed_usage, machine_names, machines. Out: one row per measurement; a row delivered twice counts once. machine is
-- null where the attempt as a whole was measured, or where the machine is unknown.
SELECT u.attempt_key, min(m.machine) AS machine, u.starts, u.ends, u.kind, u.value
FROM keyed_usage u
LEFT JOIN machine_names n ON n.name = u.name AND n.existed_from <= u.starts AND n.existed_to > u.starts
LEFT JOIN machines m ON m.resource = n.resource
WHERE u.attempt_key IS NOT NULL
GROUP BY u.attempt_key, u.name, u.starts, u.ends, u.kind, u.value
