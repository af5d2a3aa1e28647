-- In: direct_parts, channels, rules_in_force. Out: the pots that are shared by what payers were already given; one a month for each channel.
SELECT d.channel, d.category, c.currency, any_value(r.among) AS among,
  CASE any_value(r.among)
    WHEN 'all' THEN any_value(c.billing_account)
    WHEN 'account' THEN any_value(c.account)
    ELSE any_value(c.scope)
  END AS scope,
  sum(d.effective) AS effective, sum(d.billed) AS billed, sum(d.list) AS list, sum(d.contracted) AS contracted,
  min(d.piece % 65536) AS day
FROM direct_parts d
JOIN channels c ON c.channel = d.channel
JOIN rules_in_force r ON r.rule = c.rule
WHERE d.piece // 65536 = {{spend}}
GROUP BY d.channel, d.category, c.currency
