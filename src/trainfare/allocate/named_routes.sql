-- Name the rule, the basis and the scope of each route, and what its shares state besides.
-- In: routes, rules_in_force, machines. Out: one row per route.
SELECT r.route, r.currency, u.name AS rule, u.among, coalesce(nullif(u."by", ''), 'gpu_seconds') AS weighed_by,
  coalesce(m.machine_id, r.shown_scope) AS scope, r.source, r.origin, r.account, m.resource_id
FROM routes r
JOIN rules_in_force u ON u.rule = r.rule
LEFT JOIN machines m ON m.machine = r.machine
