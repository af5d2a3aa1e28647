-- In: named_parts, spend_parts, channels, payers, machines, rules_in_force. Out: the shares, as tables.SHARES says.
SELECT p.payer_kind, p.payer, p.job_id, p.attempt, m.machine_id, m.resource_id,
  DATE '1970-01-01' + CAST(s.day AS INTEGER) AS day, g.category, r.name AS rule, p.reason, c.source, c.account, c.currency,
  CAST(s.effective AS DECIMAL(38,12)) AS effective, CAST(s.billed AS DECIMAL(38,12)) AS billed,
  CAST(s.list AS DECIMAL(38,12)) AS list, CAST(s.contracted AS DECIMAL(38,12)) AS contracted
FROM (
  SELECT n.channel, n.category, n.payer_key, c.machine, n.day, n.effective, n.billed, n.list, n.contracted
  FROM named_parts n JOIN channels c ON c.channel = n.channel
  UNION ALL
  SELECT channel, category, payer_key, machine, day, effective, billed, list, contracted FROM spend_parts
) s
JOIN channels c ON c.channel = s.channel
JOIN categories g ON g.number = s.category
JOIN rules_in_force r ON r.rule = c.rule
JOIN payers p ON p.payer_key = s.payer_key
LEFT JOIN machines m ON m.machine = s.machine
