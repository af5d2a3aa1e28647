-- Find the labels that jobs report about themselves, and that no log gives.
-- In: logged_rows, declared_jobs. Out: one row per attempt and label; of different values, the last in order.
WITH declared AS (
  SELECT DISTINCT job_id, attempt, {{names}}, labels FROM declared_jobs
),
logged AS (
  SELECT DISTINCT l.job_id, l.attempt, {{names}}, l.labels
  FROM logged_rows l
  JOIN (SELECT DISTINCT job_id, attempt FROM declared) d ON d.job_id = l.job_id AND d.attempt = l.attempt
),
declared_pairs AS (
  {{declared_columns}}
  UNION ALL
  SELECT job_id, attempt, key, json_value(labels, key) AS label_value
  FROM (SELECT job_id, attempt, labels, unnest(json_keys(labels)) AS key FROM declared WHERE labels IS NOT NULL)
),
logged_pairs AS (
  {{logged_columns}}
  UNION ALL
  SELECT job_id, attempt, key, json_value(labels, key) AS label_value
  FROM (SELECT job_id, attempt, labels, unnest(json_keys(labels)) AS key FROM logged WHERE labels IS NOT NULL)
)
SELECT p.job_id, p.attempt, p.key, max(p.label_value) AS label_value
FROM declared_pairs p
LEFT JOIN (SELECT DISTINCT job_id, attempt, key FROM logged_pairs WHERE label_value IS NOT NULL) l
  ON l.job_id = p.job_id AND l.attempt = p.attempt AND l.key = p.key
WHERE p.label_value IS NOT NULL AND l.job_id IS NULL
GROUP BY p.job_id, p.attempt, p.key
