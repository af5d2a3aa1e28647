-- Combine the logs with what jobs report about themselves: attempts that no log names, and labels that no log gives.
-- In: logged_rows, declared_spans, declared_labels. Out: the same columns as logged_rows. A row of a log keeps all that
-- it says.
WITH other_pairs AS (
  SELECT DISTINCT l.job_id, l.attempt, l.labels
  FROM logged_rows l
  JOIN (SELECT DISTINCT job_id, attempt FROM declared_labels WHERE key NOT IN ({{label_names}})) d
    ON d.job_id = l.job_id AND d.attempt = l.attempt
  WHERE l.labels IS NOT NULL
),
others AS (
  SELECT job_id, attempt, json_object_of(key, label_value) AS labels
  FROM (
    SELECT job_id, attempt, key, label_value FROM declared_labels WHERE key NOT IN ({{label_names}})
    UNION ALL
    SELECT job_id, attempt, key, max(json_value(labels, key)) AS label_value
    FROM (SELECT job_id, attempt, labels, unnest(json_keys(labels)) AS key FROM other_pairs)
    GROUP BY job_id, attempt, key
  )
  WHERE label_value IS NOT NULL GROUP BY job_id, attempt
),
columns AS (
  SELECT job_id, attempt{{label_maxima}} FROM declared_labels GROUP BY job_id, attempt
)
SELECT l.job_id, l.attempt, l.machine_id, l.started, l.ended, l.gpus, l.cpus, l.memory_gb, l.state{{filled_labels}},
  l.submitted, coalesce(o.labels, l.labels) AS labels, l.log_cluster, l.native_id, l.line, l.log
FROM logged_rows l
LEFT JOIN columns c ON c.job_id = l.job_id AND c.attempt = l.attempt
LEFT JOIN others o ON o.job_id = l.job_id AND o.attempt = l.attempt
UNION ALL
SELECT s.job_id, s.attempt, s.machine_id, s.started, s.ended, s.gpus, CAST(NULL AS DECIMAL(18,3)),
  CAST(NULL AS DECIMAL(18,3)), s.state{{declared_labels}}, CAST(NULL AS TIMESTAMP), o.labels, s.log_cluster,
  s.native_id, s.line, s.log
FROM declared_spans s
LEFT JOIN columns c ON c.job_id = s.job_id AND c.attempt = s.attempt
LEFT JOIN others o ON o.job_id = s.job_id AND o.attempt = s.attempt
