-- In: delivered_placements. Out: the job logs as one, in whatever files they came. A number that two clusters gave to jobs stands for one job of each. Where logs do not number
-- attempts, these are counted over all of them. A row without an end gives way to one of the same hold that has it; where only the attempt is said to be over, it ends with that.
WITH on_several AS (
  SELECT job_id FROM delivered_placements WHERE slurm_cluster IS NOT NULL
  GROUP BY job_id HAVING min(slurm_cluster) <> max(slurm_cluster)
),
named AS (
  SELECT CASE WHEN s.job_id IS NULL OR d.slurm_cluster IS NULL THEN d.job_id ELSE d.job_id || '@' || d.slurm_cluster END AS job_id, d.* EXCLUDE (job_id)
  FROM delivered_placements d
  LEFT JOIN on_several s ON s.job_id = d.job_id
),
tried_again AS (
  SELECT job_id FROM named GROUP BY job_id HAVING min(slurm_run) <> max(slurm_run) AND count(slurm_run) = count(*)
),
runs AS (
  SELECT job_id, slurm_run, CAST(row_number() OVER (PARTITION BY job_id ORDER BY slurm_run) AS INTEGER) AS attempt
  FROM (SELECT DISTINCT n.job_id, n.slurm_run FROM named n JOIN tried_again t ON t.job_id = n.job_id)
),
counted AS (
  SELECT n.* EXCLUDE (attempt), coalesce(r.attempt, n.attempt) AS attempt
  FROM named n
  LEFT JOIN runs r ON r.job_id = n.job_id AND r.slurm_run = n.slurm_run
),
finished AS (
  SELECT c.job_id, c.attempt, lower(c.machine_id) AS machine, c.started, c.ended, CASE WHEN c.state IN ({{last_words}}) THEN c.state END AS last_word
  FROM counted c
  JOIN (SELECT DISTINCT job_id, attempt FROM counted WHERE ended IS NULL) o ON o.job_id = c.job_id AND o.attempt = c.attempt
  WHERE c.ended IS NOT NULL
),
told AS (
  SELECT c.*, h.machine IS NOT NULL AS is_told, o.ended AS over, o.last_word,
    coalesce(c.state = 'running' AND o.ended > c.started, false) AS goes_by_it
  FROM counted c
  LEFT JOIN (SELECT DISTINCT job_id, attempt, machine, started FROM finished) h
    ON h.job_id = c.job_id AND h.attempt = c.attempt AND h.machine = lower(c.machine_id) AND h.started = c.started
  LEFT JOIN (SELECT job_id, attempt, max(ended) AS ended, max(last_word) AS last_word FROM finished WHERE last_word IS NOT NULL GROUP BY job_id, attempt) o
    ON o.job_id = c.job_id AND o.attempt = c.attempt
)
SELECT job_id, attempt, machine_id, started, CASE WHEN goes_by_it THEN coalesce(ended, over) ELSE ended END AS ended, gpus, cpus, memory_gb, CASE WHEN goes_by_it THEN last_word ELSE state END AS state,
  owner, team, project, experiment, cost_center, model_version, priority, submitted, CASE WHEN NOT goes_by_it THEN labels END AS labels, line
FROM told WHERE ended IS NOT NULL OR NOT is_told
