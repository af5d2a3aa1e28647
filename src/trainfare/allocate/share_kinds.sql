-- Number everything that a share states besides its payer, machine and day.
-- In: routes, categories, rules_in_force, kind_routes. Out: one row per route and category.
SELECT CAST(r.route * 32 + g.number AS INTEGER) AS share_kind, u.name AS rule, g.category, r.source, r.origin,
  r.account, r.currency, r.converted_from
FROM routes r
JOIN rules_in_force u ON u.rule = r.rule
JOIN (SELECT DISTINCT route, category FROM kind_routes) k ON k.route = r.route
JOIN categories g ON g.number = k.category
