-- In: delivered_placements. Out: the job logs as one, in whatever files they came. A number that two clusters gave to jobs stands for one job of each. Where logs do not number
-- attempts, these are counted over all of them. A row without an end gives way to one of the same hold that has it; where only the attempt is said to be over, it ends with that.
-- What Slurm tells of a job that was resized begins with the job; it is held from the last resizing before its end, also where another log tells of that one.
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
  SELECT n.job_id, n.slurm_run,
    CAST(sum(CASE WHEN r.job_id IS NULL THEN 1 ELSE 0 END) OVER (PARTITION BY n.job_id ORDER BY n.slurm_run) AS INTEGER) AS attempt
  FROM (SELECT DISTINCT n.job_id, n.slurm_run FROM named n JOIN tried_again t ON t.job_id = n.job_id) n
  LEFT JOIN (SELECT DISTINCT job_id, slurm_resized FROM named) r ON r.job_id = n.job_id AND r.slurm_resized = n.slurm_run
),
counted AS (
  SELECT n.* EXCLUDE (attempt), coalesce(r.attempt, n.attempt) AS attempt
  FROM named n
  LEFT JOIN runs r ON r.job_id = n.job_id AND r.slurm_run = n.slurm_run
),
resizings AS (
  SELECT DISTINCT job_id, attempt, slurm_resized FROM counted WHERE slurm_resized IS NOT NULL
),
resumed AS (
  SELECT c.job_id, c.attempt, c.started, c.ended, max(r.slurm_resized) AS resumed
  FROM (SELECT DISTINCT job_id, attempt, started, ended FROM counted) c
  JOIN resizings r ON r.job_id = c.job_id AND r.attempt = c.attempt AND r.slurm_resized > c.started AND (c.ended IS NULL OR r.slurm_resized < c.ended)
  GROUP BY c.job_id, c.attempt, c.started, c.ended
),
-- A row without an end that knows nothing of a resizing is what was before it, if any other says how it went on.
gone_on AS (
  SELECT DISTINCT r.job_id, r.attempt, r.slurm_resized
  FROM resizings r
  JOIN counted c ON c.job_id = r.job_id AND c.attempt = r.attempt AND (c.ended > r.slurm_resized OR c.ended IS NULL AND c.started >= r.slurm_resized)
),
in_turn AS (
  SELECT c.* EXCLUDE (started), coalesce(u.resumed, c.started) AS started
  FROM counted c
  LEFT JOIN resumed u ON u.job_id = c.job_id AND u.attempt = c.attempt AND u.started = c.started AND u.ended IS NOT DISTINCT FROM c.ended
  LEFT JOIN gone_on g ON g.job_id = u.job_id AND g.attempt = u.attempt AND g.slurm_resized = u.resumed
  WHERE c.ended IS NOT NULL OR g.job_id IS NULL
),
finished AS (
  SELECT c.job_id, c.attempt, lower(c.machine_id) AS machine, c.started, c.ended, CASE WHEN c.state IN ({{last_words}}) THEN c.state END AS last_word
  FROM in_turn c
  JOIN (SELECT DISTINCT job_id, attempt FROM in_turn WHERE ended IS NULL OR state = 'resized') o ON o.job_id = c.job_id AND o.attempt = c.attempt
  WHERE c.ended IS NOT NULL
),
told AS (
  SELECT c.*, h.machine IS NOT NULL AS is_told, o.ended AS over, o.last_word,
    coalesce(c.state IN ('running', 'resized') AND o.ended > c.started, false) AS goes_by_it
  FROM in_turn c
  LEFT JOIN (SELECT DISTINCT job_id, attempt, machine, started FROM finished) h
    ON h.job_id = c.job_id AND h.attempt = c.attempt AND h.machine = lower(c.machine_id) AND h.started = c.started
  LEFT JOIN (SELECT job_id, attempt, max(ended) AS ended, max(last_word) AS last_word FROM finished WHERE last_word IS NOT NULL GROUP BY job_id, attempt) o
    ON o.job_id = c.job_id AND o.attempt = c.attempt
)
SELECT job_id, attempt, machine_id, started, CASE WHEN goes_by_it THEN coalesce(ended, over) ELSE ended END AS ended, gpus, cpus, memory_gb, CASE WHEN goes_by_it THEN last_word ELSE state END AS state,
  owner, team, project, experiment, cost_center, model_version, priority, submitted, CASE WHEN NOT goes_by_it THEN labels END AS labels, line
FROM told WHERE ended IS NOT NULL OR NOT is_told
