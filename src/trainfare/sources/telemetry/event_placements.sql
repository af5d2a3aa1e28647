-- Turn the events of attempts into placements: each process holds its machine from its first event to its last.
-- In: events with their spans. Out: rows of placements. An attempt whose events stop without an
-- end holds its machine up to the last one, in state unknown. Of several values of a label the newest counts; ids that
-- other systems use are labels where no label has their name.
WITH events AS (
  {{spans}}
),
pairs AS (
  SELECT job_id, attempt, time, line, 1 AS priority, labels AS json FROM events WHERE labels IS NOT NULL
  UNION ALL
  SELECT job_id, attempt, time, line, 0, native FROM events WHERE native IS NOT NULL
),
keyed AS (
  SELECT job_id, attempt, time, line, priority, json, unnest(json_keys(json)) AS key FROM pairs
),
ranked AS (
  SELECT job_id, attempt, key, json_value(json, key) AS label_value, row_number() OVER (
      PARTITION BY job_id, attempt, key ORDER BY priority DESC, time DESC, line DESC
    ) AS position
  FROM keyed WHERE json_value(json, key) <> ''
),
labeled AS (
  SELECT job_id, attempt{{label_columns}} FROM ranked WHERE position = 1 GROUP BY job_id, attempt
),
others AS (
  SELECT job_id, attempt, json_object_of(key, label_value) AS labels
  FROM ranked WHERE position = 1 AND key NOT IN ({{label_names}}) GROUP BY job_id, attempt
),
held AS (
  SELECT job_id, attempt, machine_id, min(time) AS started, max(time) AS ended, max(gpus) AS gpus,
    coalesce(max(CASE WHEN type = 'trainfare.end' THEN state END), 'unknown') AS state, max(cluster) AS cluster,
    min(line) AS line
  FROM events GROUP BY source, job_id, attempt, machine_id, span
)
SELECT h.job_id, h.attempt, h.machine_id, h.started, h.ended, h.gpus, CAST(NULL AS DECIMAL(18,3)) AS cpus,
  CAST(NULL AS DECIMAL(18,3)) AS memory_gb, h.state{{labels}}, CAST(NULL AS TIMESTAMP) AS submitted,
  h.cluster AS log_cluster, CAST(NULL AS VARCHAR) AS log_user, CAST(NULL AS TIMESTAMP) AS log_run, CAST(NULL AS TIMESTAMP) AS resized,
  o.labels, h.line
FROM held h
LEFT JOIN labeled l ON l.job_id = h.job_id AND l.attempt = h.attempt
LEFT JOIN others o ON o.job_id = h.job_id AND o.attempt = h.attempt
