-- In: attempts, jobs, placed. Out: rows of a plain job log: of which attempts, and under what name, is told from outside.
SELECT {{called}} AS job_id, a.attempt, p.machine AS machine_id, text_of(a.started) AS started, text_of(a.ended) AS ended, a.gpus, a.gpus * 12 AS cpus,
  a.gpus * 100 AS memory_gb, a.state, j.owner, j.team, j.project, j.experiment, j.cost_center
FROM attempts a
JOIN jobs j ON j.job_id = a.job_id
JOIN placed p ON p.number = a.number
WHERE {{which}} ORDER BY started, job_id, machine_id
