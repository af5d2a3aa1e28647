-- In: placement_rows, attempts, machine_names, machines. Out: who held how much of which machine from which second
-- up to which. A row delivered twice counts once. A machine name that stood for several resources is
-- resolved by the time each existed. machine is null where the name is not known at all.
SELECT a.attempt_key, p.machine_id, m.machine,
  greatest(p.starts, coalesce(n.existed_from, p.starts)) AS starts,
  least(p.ends, coalesce(n.existed_to, p.ends)) AS ends,
  p.gpu_micros, p.cpu_millis, p.memory_mbs
FROM (
  SELECT DISTINCT job_id, attempt, machine_id,
    epoch_second(started) AS starts,
    coalesce(epoch_second(ended), 253402300800) AS ends,
    CAST(gpus * 1000000 AS BIGINT) AS gpu_micros,
    CAST(cpus * 1000 AS BIGINT) AS cpu_millis,
    CAST(memory_gb * 1000 AS BIGINT) AS memory_mbs
  FROM placement_rows
) p
JOIN attempts a ON a.job_id = p.job_id AND a.attempt = p.attempt
LEFT JOIN machine_names n ON n.name = lower(p.machine_id) AND n.existed_from < p.ends AND n.existed_to > p.starts
LEFT JOIN machines m ON m.resource = n.resource
WHERE p.ends > p.starts
