-- List the lost and overhead cost of attempts with the numbers of their job, labels, site and machine.
-- In: work, grain_attempts, grain_machines.
SELECT a.job, a.attempt_key, a."set", coalesce(m.site, 1) AS site, m.machine, w.*
FROM work w
JOIN grain_attempts a ON a.job_id = w.job_id AND a.attempt = w.attempt
LEFT JOIN grain_machines m ON m.resource_id = w.resource_id
