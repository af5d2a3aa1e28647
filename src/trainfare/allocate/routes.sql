-- Number the routes that charges take to their payers: rule, origin of the charge, and the scope it is split within.
-- In: routed_kinds, targets. Out: everything that a share states besides its payer, day and category.
SELECT CAST(row_number() OVER (
    ORDER BY rule, source, origin, billing_account, account, currency, converted_from, scope, target, default_payer
  ) AS INTEGER) AS route, *
FROM (
  SELECT k.rule, k.source, k.origin, k.billing_account, k.account, k.currency, k.converted_from, k.scope,
    k.default_payer, t.target, t.machine, min(k.shown_scope) AS shown_scope
  FROM routed_kinds k
  LEFT JOIN targets t ON t.weighing = k.weighing AND t.scope = k.scope
  GROUP BY k.rule, k.source, k.origin, k.billing_account, k.account, k.currency, k.converted_from, k.scope,
    k.default_payer, t.target, t.machine
)
