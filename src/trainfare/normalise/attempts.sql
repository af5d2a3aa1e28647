-- In: placement_rows. Out: one row per attempt of a job, numbered in the order of job id and attempt, so that the
-- number is the same whatever order the rows came in.
SELECT CAST(row_number() OVER (ORDER BY job_id, attempt) AS INTEGER) AS attempt_key, *
FROM (
  SELECT job_id, attempt, max(state) AS state,
    max(owner) AS owner, max(team) AS team, max(project) AS project, max(experiment) AS experiment,
    max(cost_center) AS cost_center, max(model_version) AS model_version, max(priority) AS priority,
    max(labels) AS labels
  FROM placement_rows
  GROUP BY job_id, attempt
)
