-- In: placement_rows, attempts, machine_names, machines, covered. Out: what was held in the month and how much of it the bill covers. A job that still
-- runs counts up to where the bill is complete.
WITH told AS (
  SELECT DISTINCT job_id, attempt, machine_id, state, epoch_second(started) AS starts,
    coalesce(epoch_second(ended), greatest({{complete_through}}, epoch_second(started))) AS ends, ended IS NULL AS running,
    coalesce(epoch_second(ended), 253402300800) AS told_ends,
    CAST(gpus * 1000000 AS BIGINT) AS gpu_micros, cpus, memory_gb
  FROM placement_rows
),
on_machine AS (
  SELECT t.*, a.attempt_key, m.resource_id, m.gpu_micros AS machine_gpu_micros
  FROM told t
  JOIN attempts a ON a.job_id = t.job_id AND a.attempt = t.attempt
  LEFT JOIN machine_names n ON n.name = lower(t.machine_id) AND n.existed_from < t.told_ends AND n.existed_to > t.starts
  LEFT JOIN machines m ON m.resource = n.resource
  QUALIFY row_number() OVER (PARTITION BY t.job_id, t.attempt, t.machine_id, t.starts, t.told_ends, t.gpu_micros ORDER BY m.resource_id) = 1
),
billed AS (
  SELECT attempt_key, machine_id, min(first_second) AS first_second, max(last_second) AS last_second FROM covered
  GROUP BY attempt_key, machine_id
)
SELECT o.job_id, o.attempt, o.machine_id, o.resource_id,
  greatest(o.starts, {{month_start}}) AS starts, least(o.ends, {{month_end}}) AS ends, o.running, o.state,
  coalesce(o.gpu_micros, o.machine_gpu_micros) AS gpu_micros, o.cpus, o.memory_gb,
  greatest(o.starts, {{month_start}}, b.first_second) AS billed_starts,
  least(o.ends, {{month_end}}, b.last_second) AS billed_ends
FROM on_machine o
LEFT JOIN billed b ON b.attempt_key = o.attempt_key AND b.machine_id = o.machine_id
WHERE o.ends > {{month_start}} AND o.starts < {{month_end}} AND o.ends > o.starts
