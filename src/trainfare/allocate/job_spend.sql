-- List what a job pays of the pots that are split by spend, with the arithmetic behind each part.
-- In: spend_parts, spend_pots, spend_weights, routes, categories, rules_in_force, attempts, machines. Out: one row per
-- pot, attempt, machine and day.
SELECT a.attempt, u.name AS rule, u.among, 'spend' AS weighed_by, g.category, r.currency,
  coalesce(m.machine_id, '-') AS scope, DATE '1970-01-01' + CAST(s.day AS INTEGER) AS day, w.weight, t.total_weight,
  r.source, r.source AS route_source, r.origin, r.account, m.resource_id, p.effective AS pot_effective, p.billed AS pot_billed, p.list AS pot_list, p.contracted AS pot_contracted,
  s.effective, s.billed, s.list, s.contracted
FROM spend_parts s
JOIN attempts a ON a.attempt_key = s.payer_key
JOIN routes r ON r.route = s.route
JOIN categories g ON g.number = s.category
JOIN rules_in_force u ON u.rule = r.rule
JOIN spend_pots p ON p.route = s.route AND p.category = s.category
JOIN spend_weights w ON w.route = s.route AND w.payer_key = s.payer_key AND w.day = s.day
  AND w.machine IS NOT DISTINCT FROM s.machine
JOIN (SELECT route, sum(weight) AS total_weight FROM spend_weights GROUP BY route) t ON t.route = s.route
LEFT JOIN machines m ON m.machine = s.machine
WHERE a.job_id = {{job}}
