-- Labels of which rows of one attempt say different things. Most attempts have rows that are the same in all of them, and need not be looked at any further.
WITH different AS (
  SELECT DISTINCT p.job_id, p.attempt, p.owner, p.team, p.project, p.experiment, p.cost_center, p.model_version, p.priority
  FROM placement_rows p
  JOIN (
    SELECT job_id, attempt FROM (SELECT job_id, attempt, hash(owner, team, project, experiment, cost_center, model_version, priority, 0) AS said FROM placement_rows)
    GROUP BY job_id, attempt HAVING min(said) <> max(said)
  ) d ON d.job_id = p.job_id AND d.attempt = p.attempt
),
told AS (
  SELECT job_id, attempt, 'owner' AS label, owner AS words FROM different
  UNION ALL SELECT job_id, attempt, 'team', team FROM different
  UNION ALL SELECT job_id, attempt, 'project', project FROM different
  UNION ALL SELECT job_id, attempt, 'experiment', experiment FROM different
  UNION ALL SELECT job_id, attempt, 'cost_center', cost_center FROM different
  UNION ALL SELECT job_id, attempt, 'model_version', model_version FROM different
  UNION ALL SELECT job_id, attempt, 'priority', priority FROM different
)
SELECT 'job ' || job_id || ' attempt ' || attempt || ': ' || label || ' ' || min(words)
    || CASE WHEN count(DISTINCT words) > 2 THEN ', ' || (count(DISTINCT words) - 2) || ' more' ELSE '' END || ', ' || max(words) AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM told
GROUP BY job_id, attempt, label
HAVING min(words) <> max(words)
