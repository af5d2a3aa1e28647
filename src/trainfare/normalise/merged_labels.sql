-- In: placement_rows. Out: for each attempt whose rows have different labels all of them, key by key; of different words under one key the last in order.
WITH different AS (
  SELECT DISTINCT p.job_id, p.attempt, p.labels
  FROM placement_rows p
  JOIN (
    SELECT job_id, attempt FROM placement_rows GROUP BY job_id, attempt HAVING min(labels) <> max(labels)
  ) t ON t.job_id = p.job_id AND t.attempt = p.attempt
  WHERE p.labels IS NOT NULL
),
pairs AS (
  SELECT job_id, attempt, key, max(json_value(labels, key)) AS words
  FROM (SELECT job_id, attempt, labels, unnest(json_keys(labels)) AS key FROM different)
  GROUP BY job_id, attempt, key
)
SELECT job_id, attempt, object_of(key, words) AS labels FROM pairs WHERE words IS NOT NULL GROUP BY job_id, attempt
