-- In: charge_kinds, machines. Out: for each kind of charge of the month, the first rule that matches it and the
-- scope within which that rule shares it.
WITH facts AS (
  SELECT k.*, m.machine, m.cluster AS machine_cluster
  FROM charge_kinds k
  LEFT JOIN machines m ON m.resource = lower(k.resource_id)
  WHERE k.month = {{month}}
),
matched AS (
  SELECT *, CASE {{rules}} END AS rule FROM facts
)
SELECT * EXCLUDE (told_scope),
  lower(told_scope) AS scope, told_scope AS shown_scope,
  CASE rule {{weighings}} END AS weighing,
  CASE WHEN told_scope IS NULL AND rule IN ({{scoped}}) THEN CAST({{unallocated}} AS BIGINT) ELSE CASE rule {{payers}} END END AS fixed_payer
FROM (SELECT *, CASE rule {{scopes}} END AS told_scope FROM matched)
