-- Route each kind of charge of the month: the first rule that matches it, and the scope that the rule splits it within.
-- In: charge_kinds, machines. Out: kinds with rule, scope, weighing and default payer.
WITH facts AS (
  SELECT k.*, m.machine, m.cluster AS machine_cluster
  FROM charge_kinds k
  LEFT JOIN machines m ON m.resource = lower(k.resource_id)
  WHERE k.month = {{month}}
),
matched AS (
  SELECT *, CASE {{rules}} END AS rule FROM facts
)
SELECT * EXCLUDE (shown_scope),
  lower(shown_scope) AS scope, shown_scope,
  CASE rule {{weighings}} END AS weighing,
  CASE
    WHEN shown_scope IS NULL AND rule IN ({{scoped}}) THEN CAST({{unallocated}} AS BIGINT)
    ELSE CASE rule {{payers}} END
  END AS default_payer
FROM (SELECT *, CASE rule {{scopes}} END AS shown_scope FROM matched)
