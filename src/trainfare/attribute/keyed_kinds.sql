-- In: routed_kinds, channels, categories. Out: the few numbers a bill line needs from its kind. default_payer gets the line's money where nobody held anything in
-- its time.
SELECT k.kind, c.channel, c.target, g.number AS category, c.fixed_payer AS default_payer
FROM routed_kinds k
JOIN categories g ON g.category = k.category
JOIN channels c ON c.rule = k.rule AND c.source = k.source AND c.origin = k.origin AND c.currency = k.currency
  AND c.converted_from IS NOT DISTINCT FROM k.converted_from
  AND c.billing_account IS NOT DISTINCT FROM k.billing_account AND c.account IS NOT DISTINCT FROM k.account
  AND c.scope IS NOT DISTINCT FROM k.scope AND c.fixed_payer = k.fixed_payer
