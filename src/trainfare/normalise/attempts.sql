-- In: placement_rows, merged_labels. Out: one row per attempt of a job, numbered in the order of job id and attempt, so that the
-- number is the same whatever order the rows came in. What is said to be queued after it began was not queued. Who still runs somewhere still runs.
-- Where rows of an attempt say different things, the last in order counts; of other labels, key by key. What no row tells is null, and nothing is kept of it while grouping.
WITH told AS (
  SELECT job_id, attempt, coalesce(max(CASE WHEN ended IS NULL THEN state END), max(state)) AS state{{told}}
  FROM placement_rows
  GROUP BY job_id, attempt
),
numbered AS (
  SELECT CAST(row_number() OVER (ORDER BY job_id, attempt) AS INTEGER) AS attempt_key, * FROM told
)
SELECT n.attempt_key, n.job_id, n.attempt, n.state, {{columns}}
FROM numbered n
{{merged}}
