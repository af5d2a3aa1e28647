-- Number the attempts of all jobs, with their state and labels.
-- In: placement_rows, merged_labels. Out: one row per attempt, numbered by job id and attempt, so that the number does
-- not depend on row order. An attempt that still runs on some machine is running. Where its rows differ, the last value
-- in order counts, for other labels key by key. A submit time after the start is ignored.
WITH grouped AS (
  SELECT job_id, attempt, coalesce(max(CASE WHEN ended IS NULL THEN state END), max(state)) AS state{{aggregates}}
  FROM placement_rows
  GROUP BY job_id, attempt
),
numbered AS (
  SELECT CAST(row_number() OVER (ORDER BY job_id, attempt) AS INTEGER) AS attempt_key, * FROM grouped
)
SELECT n.attempt_key, n.job_id, n.attempt, n.state, {{columns}}
FROM numbered n
{{merged_labels}}
