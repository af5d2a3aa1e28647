-- In: placement_rows, attempts. Out: what the job log says was held, numbered, in whole seconds and whole amounts. A row delivered twice counts once. Who
-- still runs holds without end.
SELECT CAST(row_number() OVER (
    ORDER BY a.attempt_key, p.machine_id, p.started, p.ended, p.gpus, p.cpus, p.memory_gb
  ) AS INTEGER) AS holding, a.attempt_key, p.machine_id,
  epoch_second(p.started) AS starts,
  coalesce(epoch_second(p.ended), 253402300800) AS ends,
  p.ended IS NULL AS running,
  CAST(p.gpus * 1000000 AS BIGINT) AS gpu_micros,
  CAST(p.cpus * 1000 AS BIGINT) AS cpu_millis,
  CAST(p.memory_gb * 1000 AS BIGINT) AS memory_mbs
FROM (SELECT DISTINCT job_id, attempt, machine_id, started, ended, gpus, cpus, memory_gb FROM placement_rows) p
JOIN attempts a ON a.job_id = p.job_id AND a.attempt = p.attempt
WHERE p.ended IS NULL OR epoch_second(p.ended) > epoch_second(p.started)
