-- In: spend_parts, spend_pots, spend_weights, channels, rules_in_force, attempts, machines. Out: what a job pays of the pots shared by spend, and why that much.
SELECT a.attempt, r.name AS rule, r.among, 'spend' AS weighed_by, g.category, ch.currency, coalesce(m.machine_id, '-') AS scope,
  DATE '1970-01-01' + CAST(s.day AS INTEGER) AS day, w.weight, t.whole, ch.source,
  p.effective AS pot_effective, p.billed AS pot_billed, p.list AS pot_list, p.contracted AS pot_contracted,
  s.effective, s.billed, s.list, s.contracted
FROM spend_parts s
JOIN attempts a ON a.attempt_key = s.payer_key
JOIN channels ch ON ch.channel = s.channel
JOIN categories g ON g.number = s.category
JOIN rules_in_force r ON r.rule = ch.rule
JOIN spend_pots p ON p.channel = s.channel AND p.category = s.category
JOIN spend_weights w ON w.channel = s.channel AND w.payer_key = s.payer_key AND w.day = s.day AND w.machine IS NOT DISTINCT FROM s.machine
JOIN (SELECT channel, sum(weight) AS whole FROM spend_weights GROUP BY channel) t ON t.channel = s.channel
LEFT JOIN machines m ON m.machine = s.machine
WHERE a.job_id = {{job}}
