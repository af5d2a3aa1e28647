-- In: routed_kinds, rules_in_force, attempts. Out: tags on charges without a payer whose values are labels of jobs, and what they would repair.
WITH lost AS (
  SELECT k.tags, k.currency, k.effective FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule
  WHERE r.goes_to = '__unallocated__' AND k.effective > 0 AND json_valid(k.tags)
),
tagged AS (
  SELECT t.key, json_extract_string(l.tags, '$."' || t.key || '"') AS value, l.currency, l.effective
  FROM lost l, unnest(json_keys(l.tags)) AS t(key)
),
known AS (
  SELECT DISTINCT label, lower(value) AS value FROM (UNPIVOT (SELECT team, project, owner, cost_center, experiment, model_version, job_id AS job FROM attempts)
    ON team, project, owner, cost_center, experiment, model_version, job INTO NAME label VALUE value)
)
SELECT k.label, t.key, t.currency, sum(t.effective) AS repaired
FROM tagged t JOIN known k ON k.value = lower(t.value)
GROUP BY k.label, t.key, t.currency
QUALIFY row_number() OVER (PARTITION BY t.key, t.currency ORDER BY sum(t.effective) DESC, k.label) = 1
ORDER BY repaired DESC, k.label
