-- Find when attempts ended that the job log reports as over without an end.
-- In: placement_rows, machine_names, machines. Out: one row per such placement, with the earliest of: the start of the
-- job's next attempt, the end of the machine in the machine file, the start of a holder for whom the machine would not have had room, and
-- the end of the log. Others whose end is unknown do not take up room.
WITH unended AS (
  SELECT DISTINCT job_id, attempt, machine_id, started, log_cluster, gpus, cpus
  FROM placement_rows WHERE ended IS NULL AND state IN ({{final_states}})
),
log_ends AS (
  SELECT log_cluster, max(greatest(started, coalesce(ended, started), coalesce(submitted, started))) AS ended
  FROM placement_rows GROUP BY log_cluster
),
next_starts AS (
  SELECT u.job_id, u.attempt, u.machine_id, u.started, min(p.started) AS ended
  FROM unended u JOIN placement_rows p ON p.job_id = u.job_id AND p.attempt > u.attempt AND p.started >= u.started
  GROUP BY u.job_id, u.attempt, u.machine_id, u.started
),
machine_ends AS (
  SELECT u.job_id, u.attempt, u.machine_id, u.started, max(CASE WHEN m.listed THEN n.existed_to END) AS ended,
    min(m.gpu_micros) AS gpu_micros,
    min(m.cpu_millis) AS cpu_millis
  FROM unended u
  JOIN machine_names n ON n.name = lower(u.machine_id) AND n.existed_from <= epoch_second(u.started)
    AND n.existed_to > epoch_second(u.started)
  JOIN machines m ON m.resource = n.resource
  GROUP BY u.job_id, u.attempt, u.machine_id, u.started
),
-- How much each row takes up, in millionths of the machine's GPUs, or in thousandths of its CPUs if it has no GPUs.
sizes AS (
  SELECT lower(machine_id) AS name, max(CASE WHEN gpu_micros > 0 THEN gpu_micros ELSE cpu_millis END) AS capacity,
    max(coalesce(gpu_micros, 0)) > 0 AS by_gpu
  FROM machine_ends GROUP BY lower(machine_id)
),
amounts AS (
  SELECT DISTINCT p.job_id, p.attempt, s.name, p.started, p.ended, s.capacity,
    p.ended IS NULL AND p.state IN ({{final_states}}) AS is_unended,
    coalesce(CASE WHEN s.by_gpu THEN CAST(p.gpus * 1000000 AS BIGINT) ELSE CAST(p.cpus * 1000 AS BIGINT) END,
      s.capacity) AS amount
  FROM placement_rows p JOIN sizes s ON s.name = lower(p.machine_id)
),
without_room AS (
  SELECT u.job_id, u.attempt, u.name, u.started, c.started AS ended
  FROM amounts u
  JOIN (SELECT DISTINCT name, job_id, attempt, started FROM amounts WHERE NOT is_unended AND amount > 0) c
    ON c.name = u.name AND c.started > u.started AND NOT (c.job_id = u.job_id AND c.attempt = u.attempt)
  JOIN amounts h ON h.name = u.name AND NOT h.is_unended AND h.started <= c.started
    AND (h.ended IS NULL OR h.ended > c.started) AND NOT (h.job_id = u.job_id AND h.attempt = u.attempt)
  WHERE u.is_unended AND u.amount > 0
  GROUP BY u.job_id, u.attempt, u.name, u.started, u.amount, u.capacity, c.job_id, c.attempt, c.started
  HAVING sum(h.amount) + u.amount > u.capacity
),
ends AS (
  SELECT u.job_id, u.attempt, u.machine_id, u.started, l.ended, 4 AS reason
  FROM unended u JOIN log_ends l ON l.log_cluster IS NOT DISTINCT FROM u.log_cluster
  UNION ALL SELECT job_id, attempt, machine_id, started, ended, 1 FROM next_starts
  UNION ALL SELECT job_id, attempt, machine_id, started, make_timestamp(ended * 1000000), 2
  FROM machine_ends WHERE ended < 253402300800
  UNION ALL SELECT u.job_id, u.attempt, u.machine_id, u.started, w.ended, 3
  FROM unended u JOIN without_room w ON w.job_id = u.job_id AND w.attempt = u.attempt
    AND w.name = lower(u.machine_id) AND w.started = u.started
)
SELECT job_id, attempt, machine_id, started, min(ended) AS ended,
  CASE min(ranking) WHEN 1 THEN 'when the next attempt started' WHEN 2 THEN 'when the machine was gone'
    WHEN 3 THEN 'when others needed its place' ELSE 'when the log ends' END AS reason,
  started < {{month}} + INTERVAL 1 MONTH AND min(ended) >= {{month}} AS is_in_month
FROM (SELECT *, CASE WHEN ended = min(ended) OVER (
      PARTITION BY job_id, attempt, machine_id, started) THEN reason END AS ranking FROM ends)
GROUP BY job_id, attempt, machine_id, started
