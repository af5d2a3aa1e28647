-- List what the job log reports as held, numbered in any order, in whole seconds and integer amounts.
-- In: placement_rows, attempts, inferred_ends. Out: one row per holding; a row delivered twice counts once, and a
-- running attempt holds without end.
SELECT unique_number() AS holding, p.attempt_key, p.machine_id,
  epoch_second(p.started) AS starts,
  coalesce(epoch_second(p.ended), 253402300800) AS ends,
  p.ended IS NULL AS running,
  CAST(p.gpus * 1000000 AS BIGINT) AS gpu_micros,
  CAST(p.cpus * 1000 AS BIGINT) AS cpu_millis,
  CAST(p.memory_gb * 1000 AS BIGINT) AS memory_mbs
FROM (
  SELECT DISTINCT a.attempt_key, r.machine_id, r.started, coalesce(r.ended, e.ended) AS ended, r.gpus, r.cpus,
    r.memory_gb
  FROM placement_rows r
  JOIN attempts a ON a.job_id = r.job_id AND a.attempt = r.attempt
  LEFT JOIN inferred_ends e ON e.job_id = r.job_id AND e.attempt = r.attempt AND e.machine_id = r.machine_id
    AND e.started = r.started AND r.ended IS NULL AND r.state IN ({{final_states}})
) p
WHERE p.ended IS NULL OR epoch_second(p.ended) > epoch_second(p.started)
