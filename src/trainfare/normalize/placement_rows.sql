-- Merge all job logs into one, whatever files they came in.
-- In: delivered_placements, log being the number of the log. Out: the same rows with final attempts, starts and ends.
-- Where logs do not number attempts, these are counted over all logs. A row without an end gives way to one of the same
-- placement that has an end; where only the attempt is reported as over, the row ends with it. A log may report a
-- resized job from the job's start: it is held from the last resize before its end, even if another log reports that
-- resize.
WITH retried_jobs AS (
  SELECT job_id FROM delivered_placements
  GROUP BY job_id HAVING (min(log_run) <> max(log_run) OR min(attempt) > 1) AND count(log_run) = count(*)
),
runs AS (
  SELECT n.job_id, n.log_run,
    CAST(sum(CASE WHEN r.job_id IS NULL THEN 1 ELSE 0 END) OVER (PARTITION BY n.job_id ORDER BY n.log_run)
      AS INTEGER) AS attempt
  FROM (SELECT DISTINCT n.job_id, n.log_run FROM delivered_placements n JOIN retried_jobs t ON t.job_id = n.job_id) n
  LEFT JOIN (SELECT DISTINCT job_id, resized FROM delivered_placements) r ON r.job_id = n.job_id AND r.resized = n.log_run
),
counted AS (
  SELECT n.* EXCLUDE (attempt), coalesce(r.attempt, n.attempt) AS attempt
  FROM delivered_placements n
  LEFT JOIN runs r ON r.job_id = n.job_id AND r.log_run = n.log_run
),
resizes AS (
  SELECT DISTINCT job_id, attempt, resized FROM counted WHERE resized IS NOT NULL
),
last_resizes AS (
  SELECT c.job_id, c.attempt, c.started, c.ended, max(r.resized) AS resized
  FROM (SELECT DISTINCT job_id, attempt, started, ended FROM counted) c
  JOIN resizes r ON r.job_id = c.job_id AND r.attempt = c.attempt AND r.resized > c.started
    AND (c.ended IS NULL OR r.resized < c.ended)
  GROUP BY c.job_id, c.attempt, c.started, c.ended
),
-- A row without an end that predates a resize is superseded if another row shows how the job continued.
continued AS (
  SELECT DISTINCT r.job_id, r.attempt, r.resized
  FROM resizes r
  JOIN counted c ON c.job_id = r.job_id AND c.attempt = r.attempt
    AND (c.ended > r.resized OR c.ended IS NULL AND c.started >= r.resized)
),
sequenced AS (
  SELECT c.* EXCLUDE (started), coalesce(u.resized, c.started) AS started
  FROM counted c
  LEFT JOIN last_resizes u ON u.job_id = c.job_id AND u.attempt = c.attempt AND u.started = c.started
    AND u.ended IS NOT DISTINCT FROM c.ended
  LEFT JOIN continued g ON g.job_id = u.job_id AND g.attempt = u.attempt AND g.resized = u.resized
  WHERE c.ended IS NOT NULL OR g.job_id IS NULL
),
finished AS (
  SELECT c.job_id, c.attempt, lower(c.machine_id) AS machine, c.started, c.ended,
    CASE WHEN c.state IN ({{final_states}}) THEN c.state END AS final_state
  FROM sequenced c
  JOIN (SELECT DISTINCT job_id, attempt FROM sequenced WHERE ended IS NULL OR state = 'resized') o
    ON o.job_id = c.job_id AND o.attempt = c.attempt
  WHERE c.ended IS NOT NULL
),
matched AS (
  SELECT c.*, h.machine IS NOT NULL AS has_finished_row, o.ended AS attempt_ended, o.final_state,
    coalesce(c.state IN ('running', 'resized') AND o.ended > c.started, false) AS ends_with_attempt
  FROM sequenced c
  LEFT JOIN (SELECT DISTINCT job_id, attempt, machine, started FROM finished) h
    ON h.job_id = c.job_id AND h.attempt = c.attempt AND h.machine = lower(c.machine_id) AND h.started = c.started
  LEFT JOIN (
    SELECT job_id, attempt, max(ended) AS ended, max(final_state) AS final_state
    FROM finished WHERE final_state IS NOT NULL GROUP BY job_id, attempt
  ) o ON o.job_id = c.job_id AND o.attempt = c.attempt
)
SELECT job_id, attempt, machine_id, started,
  CASE WHEN ends_with_attempt THEN coalesce(ended, attempt_ended) ELSE ended END AS ended, gpus, cpus, memory_gb,
  CASE WHEN ends_with_attempt THEN final_state ELSE state END AS state,
  owner, team, project, experiment, cost_center, model_version, priority, submitted,
  CASE WHEN NOT ends_with_attempt THEN labels END AS labels, log_cluster, native_id, line, log
FROM matched WHERE ended IS NOT NULL OR NOT has_finished_row
