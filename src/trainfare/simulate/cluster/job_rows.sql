-- Select the rows of a plain job log, for the attempts that the condition selects.
-- In: attempts, jobs, placements.
SELECT {{job_id}} AS job_id, a.attempt, p.machine AS machine_id, utc_text(a.started) AS started,
  utc_text(a.ended) AS ended, a.gpus, a.gpus * 12 AS cpus, a.gpus * 100 AS memory_gb, a.state,
  j.owner, j.team, j.project, j.experiment, j.cost_center
FROM attempts a
JOIN jobs j ON j.job_id = a.job_id
JOIN placements p ON p.number = a.number
WHERE {{condition}} ORDER BY started, job_id, machine_id
