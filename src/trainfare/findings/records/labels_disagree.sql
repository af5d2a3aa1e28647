-- Labels for which rows of one attempt have different values.
-- Most attempts have rows with the same labels, and need no further comparison.
WITH different AS (
  SELECT DISTINCT p.job_id, p.attempt, p.owner, p.team, p.project, p.experiment, p.cost_center, p.model_version,
    p.priority
  FROM placement_rows p
  JOIN (
    SELECT job_id, attempt
    FROM (
      SELECT job_id, attempt,
        hash(owner, team, project, experiment, cost_center, model_version, priority, 0) AS fingerprint
      FROM placement_rows
    )
    GROUP BY job_id, attempt HAVING min(fingerprint) <> max(fingerprint)
  ) d ON d.job_id = p.job_id AND d.attempt = p.attempt
),
labels AS (
  SELECT job_id, attempt, 'owner' AS label, owner AS label_value FROM different
  UNION ALL SELECT job_id, attempt, 'team', team FROM different
  UNION ALL SELECT job_id, attempt, 'project', project FROM different
  UNION ALL SELECT job_id, attempt, 'experiment', experiment FROM different
  UNION ALL SELECT job_id, attempt, 'cost_center', cost_center FROM different
  UNION ALL SELECT job_id, attempt, 'model_version', model_version FROM different
  UNION ALL SELECT job_id, attempt, 'priority', priority FROM different
)
SELECT 'job ' || job_id || ' attempt ' || attempt || ': ' || label || ' ' || min(label_value)
    || CASE WHEN count(DISTINCT label_value) > 2 THEN ', ' || (count(DISTINCT label_value) - 2) || ' more' ELSE '' END
    || ', ' || max(label_value) AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM labels
GROUP BY job_id, attempt, label
HAVING min(label_value) <> max(label_value)
