-- Add up the pots that are split by what payers were already allocated, one per month, route and category.
-- In: direct_parts, routes, rules_in_force. Out: pots with the scope they are split within.
SELECT d.route, d.category, r.currency, any_value(u.among) AS among, any_value(u.idle) AS idle,
  CASE any_value(u.among)
    WHEN 'all' THEN any_value(r.billing_account)
    WHEN 'account' THEN any_value(r.account)
    ELSE any_value(r.scope)
  END AS scope,
  sum(d.effective) AS effective, sum(d.billed) AS billed, sum(d.list) AS list, sum(d.contracted) AS contracted,
  min(d.payer_day % 65536) AS day
FROM direct_parts d
JOIN routes r ON r.route = d.route
JOIN rules_in_force u ON u.rule = r.rule
WHERE d.payer_day // 65536 = {{spend}}
GROUP BY d.route, d.category, r.currency
