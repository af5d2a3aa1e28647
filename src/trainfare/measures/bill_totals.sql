-- Total the bill before any allocation.
-- In: routed_kinds, rules_in_force, adjustment_totals. Out: sums per source, account, currency, category and the rule
-- that matched; adjustments of closed months are sources of their own.
SELECT k.source, k.origin, k.converted_from, k.billing_account, k.account, k.currency, k.category, k.charge_category,
  r.name AS rule, CAST(sum(k.lines) AS BIGINT) AS lines, sum(k.effective) AS effective, sum(k.billed) AS billed,
  sum(k.list) AS list, sum(k.contracted) AS contracted
FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule
GROUP BY k.source, k.origin, k.converted_from, k.billing_account, k.account, k.currency, k.category, k.charge_category,
  r.name
UNION ALL
SELECT source, origin, converted_from, billing_account, account, currency, category, charge_category, rule, lines,
  effective, billed, list, contracted
FROM adjustment_totals
