-- In: routed_kinds, channels. Out: the few numbers a bill line needs from its kind. default_payer gets the line's
-- money where nobody held anything in its time.
SELECT k.kind, c.channel, c.target, c.fixed_payer AS default_payer
FROM routed_kinds k
JOIN channels c ON c.rule = k.rule AND c.category = k.category AND c.source = k.source AND c.currency = k.currency
  AND c.billing_account IS NOT DISTINCT FROM k.billing_account AND c.account IS NOT DISTINCT FROM k.account
  AND c.scope IS NOT DISTINCT FROM k.scope AND c.fixed_payer = k.fixed_payer
