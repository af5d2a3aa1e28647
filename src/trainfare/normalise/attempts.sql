-- In: placement_rows. Out: one row per attempt of a job, numbered in the order of job id and attempt, so that the
-- number is the same whatever order the rows came in. What is said to be queued after it began was not queued. Who still runs somewhere still runs.
SELECT CAST(row_number() OVER (ORDER BY job_id, attempt) AS INTEGER) AS attempt_key, *
FROM (
  SELECT job_id, attempt, coalesce(max(CASE WHEN ended IS NULL THEN state END), max(state)) AS state,
    max(owner) AS owner, max(team) AS team, max(project) AS project, max(experiment) AS experiment,
    max(cost_center) AS cost_center, max(model_version) AS model_version, max(priority) AS priority,
    max(labels) AS labels,
    CASE WHEN min(submitted) <= min(started) THEN epoch_second(min(submitted)) END AS queued_from,
    CASE WHEN min(submitted) <= min(started) THEN epoch_second(min(started)) END AS queued_to
  FROM placement_rows
  GROUP BY job_id, attempt
)
