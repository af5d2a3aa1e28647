-- Map each kind of charge to its route, target, category and default payer.
-- In: routed_kinds, routes, categories. Out: the few numbers that a bill line needs from its kind; default_payer gets
-- the line's money if no job held anything in its time.
SELECT k.kind, r.route, r.target, g.number AS category, r.default_payer
FROM routed_kinds k
JOIN categories g ON g.category = k.category
JOIN routes r ON r.rule = k.rule AND r.source = k.source AND r.origin = k.origin AND r.currency = k.currency
  AND r.converted_from IS NOT DISTINCT FROM k.converted_from
  AND r.billing_account IS NOT DISTINCT FROM k.billing_account AND r.account IS NOT DISTINCT FROM k.account
  AND r.scope IS NOT DISTINCT FROM k.scope AND r.default_payer = k.default_payer
