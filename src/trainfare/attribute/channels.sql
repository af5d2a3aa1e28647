-- In: routed_kinds, targets. Out: what a share says beside its payer, day and category, numbered: rule, where the charge came from, and what it was
-- shared within.
SELECT CAST(row_number() OVER (
    ORDER BY rule, source, origin, billing_account, account, currency, converted_from, scope, target, fixed_payer
  ) AS INTEGER) AS channel, *
FROM (
  SELECT k.rule, k.source, k.origin, k.billing_account, k.account, k.currency, k.converted_from, k.scope, k.fixed_payer,
    t.target, t.machine, min(k.shown_scope) AS shown_scope
  FROM routed_kinds k
  LEFT JOIN targets t ON t.weighing = k.weighing AND t.scope = k.scope
  GROUP BY k.rule, k.source, k.origin, k.billing_account, k.account, k.currency, k.converted_from, k.scope, k.fixed_payer, t.target, t.machine
)
