-- Merge the labels of attempts whose rows have different ones.
-- In: placement_rows. Out: all labels of each such attempt; of different values for one key, the last in order.
WITH different AS (
  SELECT DISTINCT p.job_id, p.attempt, p.labels
  FROM placement_rows p
  JOIN (
    SELECT job_id, attempt FROM placement_rows GROUP BY job_id, attempt HAVING min(labels) <> max(labels)
  ) t ON t.job_id = p.job_id AND t.attempt = p.attempt
  WHERE p.labels IS NOT NULL
),
pairs AS (
  SELECT job_id, attempt, key, max(json_value(labels, key)) AS label_value
  FROM (SELECT job_id, attempt, labels, unnest(json_keys(labels)) AS key FROM different)
  GROUP BY job_id, attempt, key
)
SELECT job_id, attempt, json_object_of(key, label_value) AS labels
FROM pairs WHERE label_value IS NOT NULL GROUP BY job_id, attempt
