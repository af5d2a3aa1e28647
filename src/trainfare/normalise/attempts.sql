-- In: placement_rows. Out: one row per attempt of a job, numbered in the order of job id and attempt, so that the
-- number is the same whatever order the rows came in. What is said to be queued after it began was not queued. Who still runs somewhere still runs.
-- Where rows of an attempt say different things, the last in order counts; of other labels, key by key. Few attempts have rows with different ones.
WITH told AS (
  SELECT job_id, attempt, coalesce(max(CASE WHEN ended IS NULL THEN state END), max(state)) AS state,
    max(owner) AS owner, max(team) AS team, max(project) AS project, max(experiment) AS experiment,
    max(cost_center) AS cost_center, max(model_version) AS model_version, max(priority) AS priority,
    min(labels) AS first_labels, max(labels) AS last_labels,
    CASE WHEN min(submitted) <= min(started) THEN epoch_second(min(submitted)) END AS queued_from,
    CASE WHEN min(submitted) <= min(started) THEN epoch_second(min(started)) END AS queued_to
  FROM placement_rows
  GROUP BY job_id, attempt
),
different AS (
  SELECT DISTINCT p.job_id, p.attempt, p.labels
  FROM placement_rows p JOIN told t ON t.job_id = p.job_id AND t.attempt = p.attempt
  WHERE t.first_labels <> t.last_labels AND p.labels IS NOT NULL
),
pairs AS (
  SELECT job_id, attempt, key, max(json_value(labels, key)) AS words
  FROM (SELECT job_id, attempt, labels, unnest(json_keys(labels)) AS key FROM different)
  GROUP BY job_id, attempt, key
),
merged AS (
  SELECT job_id, attempt, object_of(key, words) AS labels FROM pairs WHERE words IS NOT NULL GROUP BY job_id, attempt
)
SELECT CAST(row_number() OVER (ORDER BY t.job_id, t.attempt) AS INTEGER) AS attempt_key, t.job_id, t.attempt, t.state,
  t.owner, t.team, t.project, t.experiment, t.cost_center, t.model_version, t.priority,
  coalesce(m.labels, t.last_labels) AS labels, t.queued_from, t.queued_to
FROM told t
LEFT JOIN merged m ON m.job_id = t.job_id AND m.attempt = t.attempt
