-- Route each kind of charge of the month: the first rule that matches it, and the scope that the rule splits it within.
-- In: charge_kinds, machines, job_names. Out: kinds with rule, scope, weighing and default payer. A tag may call a job by
-- the name that its log uses.
WITH facts AS (
  SELECT k.*, m.machine, m.cluster AS machine_cluster
  FROM charge_kinds k
  LEFT JOIN machines m ON m.resource = lower(k.resource_id)
  WHERE k.month = {{month}}
),
matched AS (
  SELECT *, CASE {{rules}} END AS rule FROM facts
),
called AS (
  SELECT lower(name) AS name, lower(min(job_id)) AS job_id FROM job_names WHERE is_only_spelling GROUP BY lower(name)
)
SELECT s.* EXCLUDE (shown_scope),
  coalesce(j.job_id, lower(s.shown_scope)) AS scope, s.shown_scope,
  CASE rule {{weighings}} END AS weighing,
  CASE
    WHEN shown_scope IS NULL AND rule IN ({{scoped}}) THEN CAST({{unallocated}} AS BIGINT)
    ELSE CASE rule {{payers}} END
  END AS default_payer
FROM (SELECT *, CASE rule {{scopes}} END AS shown_scope FROM matched) s
LEFT JOIN called j ON s.rule IN ({{job_rules}}) AND j.name = lower(s.shown_scope)
