-- Find tags on unallocated charges whose values are labels of jobs, and how much cost mapping them would allocate.
-- In: routed_kinds, rules_in_force, attempts, job_names.
WITH unallocated AS (
  SELECT k.tags, k.currency, k.effective FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule
  WHERE r.goes_to = '__unallocated__' AND k.effective > 0 AND json_valid(k.tags)
),
tagged AS (
  SELECT key, json_value(tags, key) AS value, currency, effective
  FROM (SELECT tags, currency, effective, unnest(json_keys(tags)) AS key FROM unallocated)
),
known AS (
  SELECT DISTINCT label, lower(value) AS value
  FROM (
    SELECT 'team' AS label, team AS value FROM attempts
    UNION ALL SELECT 'project', project FROM attempts
    UNION ALL SELECT 'owner', owner FROM attempts
    UNION ALL SELECT 'cost_center', cost_center FROM attempts
    UNION ALL SELECT 'experiment', experiment FROM attempts
    UNION ALL SELECT 'model_version', model_version FROM attempts
    UNION ALL SELECT 'job', job_id FROM attempts
    UNION ALL SELECT 'job', name FROM job_names
  )
  WHERE lower(value) IN (SELECT lower(value) FROM tagged)
)
SELECT label, key, currency, fixed
FROM (
  SELECT k.label, t.key, t.currency, sum(t.effective) AS fixed,
    row_number() OVER (PARTITION BY t.key, t.currency ORDER BY sum(t.effective) DESC, k.label) AS ranking
  FROM tagged t JOIN known k ON k.value = lower(t.value)
  GROUP BY k.label, t.key, t.currency
)
WHERE ranking = 1
ORDER BY fixed DESC, label, key, currency
