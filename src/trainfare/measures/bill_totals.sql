-- Total the bill before any allocation.
-- In: routed_kinds, rules_in_force. Out: sums per source, account, currency, category and the rule that matched.
SELECT k.source, k.origin, k.converted_from, k.billing_account, k.account, k.currency, k.category, k.charge_category,
  r.name AS rule, CAST(sum(k.lines) AS BIGINT) AS lines, sum(k.effective) AS effective, sum(k.billed) AS billed,
  sum(k.list) AS list, sum(k.contracted) AS contracted
FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule
GROUP BY k.source, k.origin, k.converted_from, k.billing_account, k.account, k.currency, k.category, k.charge_category,
  r.name
