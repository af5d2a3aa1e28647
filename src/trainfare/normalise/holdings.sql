-- In: placement_rows, attempts. Out: what the job log says was held, numbered in any order, in whole seconds and whole amounts. A row delivered twice counts
-- once. Who still runs holds without end.
SELECT any_number() AS holding, p.attempt_key, p.machine_id,
  epoch_second(p.started) AS starts,
  coalesce(epoch_second(p.ended), 253402300800) AS ends,
  p.ended IS NULL AS running,
  CAST(p.gpus * 1000000 AS BIGINT) AS gpu_micros,
  CAST(p.cpus * 1000 AS BIGINT) AS cpu_millis,
  CAST(p.memory_gb * 1000 AS BIGINT) AS memory_mbs
FROM (
  SELECT DISTINCT a.attempt_key, r.machine_id, r.started, r.ended, r.gpus, r.cpus, r.memory_gb
  FROM placement_rows r
  JOIN attempts a ON a.job_id = r.job_id AND a.attempt = r.attempt
) p
WHERE p.ended IS NULL OR epoch_second(p.ended) > epoch_second(p.started)
