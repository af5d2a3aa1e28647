-- Find the time in which attempts held machines according to the jobs themselves, where no log names the attempt.
-- In: logged_rows, declared_jobs. Out: one row per attempt, machine and uninterrupted time; overlapping
-- reports of several processes are one. A log also takes precedence where it has the job at that time under another
-- attempt; clocks may differ by a minute.
WITH logged_at_the_time AS (
  SELECT DISTINCT n.job_id, n.attempt, n.machine_id, n.started, n.ended
  FROM declared_jobs n
  JOIN logged_rows l ON l.job_id = n.job_id AND epoch_second(l.started) < epoch_second(n.ended) - 60
    AND (l.ended IS NULL OR epoch_second(l.ended) > epoch_second(n.started) + 60)
),
unlogged AS (
  SELECT n.*
  FROM declared_jobs n
  LEFT JOIN (SELECT DISTINCT job_id, attempt FROM logged_rows) l ON l.job_id = n.job_id AND l.attempt = n.attempt
  LEFT JOIN logged_at_the_time t ON t.job_id = n.job_id AND t.attempt = n.attempt AND t.machine_id = n.machine_id
    AND t.started = n.started AND t.ended = n.ended
  WHERE l.job_id IS NULL AND t.job_id IS NULL
),
ordered AS (
  SELECT *, max(ended) OVER (
      PARTITION BY job_id, attempt, lower(machine_id) ORDER BY started, ended, line
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM unlogged
),
islands AS (
  SELECT *, sum(CASE WHEN previous_end >= started THEN 0 ELSE 1 END) OVER (
      PARTITION BY job_id, attempt, lower(machine_id) ORDER BY started, ended, line
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS island
  FROM ordered
),
ends AS (
  SELECT *, max(ended) OVER (PARTITION BY job_id, attempt, lower(machine_id), island) AS last_end FROM islands
)
SELECT job_id, attempt, min(machine_id) AS machine_id, min(started) AS started, max(ended) AS ended,
  max(gpus) AS gpus, coalesce(max(CASE WHEN ended = last_end AND state <> 'unknown' THEN state END), 'unknown') AS state,
  max(log_cluster) AS log_cluster, max(native_id) AS native_id, min(line) AS line, min(log) AS log
FROM ends
GROUP BY job_id, attempt, lower(machine_id), island
