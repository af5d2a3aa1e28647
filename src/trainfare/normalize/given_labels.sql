-- Replace the labels of attempts by those that people gave to their jobs afterwards.
-- In: attempts as the logs have them, given_labels. Out: the same rows with the given labels. What was given to an
-- attempt counts more than what was given to its job.
WITH given AS (
  SELECT attempt_key, key, label_value
  FROM (
    SELECT a.attempt_key, g.key, g.label_value, row_number() OVER (
        PARTITION BY a.attempt_key, g.key ORDER BY CASE WHEN g.attempt IS NULL THEN 1 ELSE 0 END
      ) AS position
    FROM attempts a
    JOIN given_labels g ON g.job_id = a.job_id AND coalesce(g.attempt = a.attempt, true)
  )
  WHERE position = 1
),
columns AS (
  SELECT attempt_key{{label_maxima}} FROM given GROUP BY attempt_key
),
other_pairs AS (
  SELECT a.attempt_key, a.labels, unnest(json_keys(a.labels)) AS key
  FROM attempts a
  JOIN (SELECT DISTINCT attempt_key FROM given WHERE key NOT IN ({{label_names}})) g ON g.attempt_key = a.attempt_key
  WHERE a.labels IS NOT NULL
),
others AS (
  SELECT attempt_key, json_object_of(key, label_value) AS labels
  FROM (
    SELECT attempt_key, key, label_value FROM given WHERE key NOT IN ({{label_names}})
    UNION ALL
    SELECT p.attempt_key, p.key, json_value(p.labels, p.key) AS label_value
    FROM other_pairs p
    LEFT JOIN given g ON g.attempt_key = p.attempt_key AND g.key = p.key
    WHERE g.attempt_key IS NULL
  )
  WHERE label_value IS NOT NULL
  GROUP BY attempt_key
)
SELECT a.attempt_key, a.job_id, a.attempt, a.state{{given_columns}}, coalesce(o.labels, a.labels) AS labels,
  a.queued_from, a.queued_to
FROM attempts a
LEFT JOIN columns c ON c.attempt_key = a.attempt_key
LEFT JOIN others o ON o.attempt_key = a.attempt_key
