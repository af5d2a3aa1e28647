-- List every bill line with each payer's part of it.
-- In: line_parts, keyed_charges, kind_routes, weight_totals, special_payer_keys, payers, attempts, fixed_parts,
-- spend_weights, routes, rules_in_force, categories, machines. Out: one row per bill line and payer, with the part's
-- ratio in 10^-12; the ratios of a line add up to one. The lines of a pot that is split by spend or in fixed parts are
-- added up one after the other, as in line_parts.
WITH unweighted AS (
  SELECT c.delivery, c.line, k.route, k.category, k.default_payer, epoch_second(c.period_start) // 86400 AS day,
    in_units(c.effective) AS effective, in_units(c.billed) AS billed,
    in_units(coalesce(c.list, 0)) AS list, in_units(coalesce(c.contracted, 0)) AS contracted,
    CAST(1000000000000 AS HUGEINT) AS ratio
  FROM keyed_charges c
  JOIN kind_routes k ON k.kind = c.kind
  LEFT JOIN weight_totals w ON w.target = k.target AND w.period = period_key(c.period_start, c.period_end)
  WHERE w.target IS NULL
),
running AS (
  SELECT *, {{running_sums}}
  FROM unweighted WHERE default_payer IN ({{spend}}, {{fixed}})
  WINDOW pot AS (
    PARTITION BY route, category, CASE default_payer WHEN {{fixed}} THEN day END
    ORDER BY delivery, line ROWS UNBOUNDED PRECEDING
  )
),
weighted AS (
  SELECT l.*, '' AS payer, w.payer_key, w.machine, w.day AS share_day, w.weight
  FROM running l JOIN spend_weights w ON w.route = l.route
  WHERE l.default_payer = {{spend}}
  UNION ALL
  SELECT l.*, f.payer, y.payer_key, NULL, l.day, f.part
  FROM running l
  JOIN routes r ON r.route = l.route
  JOIN fixed_parts f ON f.rule = r.rule
  JOIN payers y ON y.payer = f.payer AND y.reason = 'fixed part'
  WHERE l.default_payer = {{fixed}}
),
divided AS (
  {{split}}
),
parts AS (
  SELECT p.delivery, p.line, p.route, p.category,
    coalesce(x.payer_key, CAST(p.payer_day // 65536 AS INTEGER)) AS payer_key, r.machine, p.payer_day % 65536 AS day,
    CAST(p.weight AS HUGEINT) AS weight, CAST(p.total_weight AS HUGEINT) AS total_weight,
    p.effective, p.billed, p.list, p.contracted, p.ratio
  FROM line_parts p
  JOIN routes r ON r.route = p.route
  LEFT JOIN special_payer_keys x ON x.route = p.route AND x.category = p.category AND x.code = p.payer_day // 65536
  UNION ALL
  SELECT u.delivery, u.line, u.route, u.category, x.payer_key, r.machine, u.day, 1, 1,
    u.effective, u.billed, u.list, u.contracted, u.ratio
  FROM unweighted u
  JOIN routes r ON r.route = u.route
  JOIN special_payer_keys x ON x.route = u.route AND x.category = u.category AND x.code = u.default_payer
  WHERE u.default_payer <> {{fixed}}
    AND NOT (u.default_payer = {{spend}} AND u.route IN (SELECT route FROM spend_weights))
  UNION ALL
  SELECT delivery, line, route, category, payer_key, machine, share_day, weight, total_weight,
    effective, billed, list, contracted, ratio
  FROM divided
)
SELECT p.delivery, p.line, r.origin, r.currency, r.converted_from, coalesce(y.payer_kind, 'attempt') AS payer_kind,
  coalesce(y.payer, a.job_id || '#' || a.attempt) AS payer, a.job_id, a.attempt, y.reason, m.machine_id,
  DATE '1970-01-01' + CAST(p.day AS INTEGER) AS day, g.category, u.name AS rule, u.among,
  coalesce(nullif(u."by", ''), 'gpu_seconds') AS weighed_by, p.weight, p.total_weight, p.ratio,
  count(*) OVER (PARTITION BY p.delivery, p.line) AS parts,
  as_money(p.effective) AS effective, as_money(p.billed) AS billed, as_money(p.list) AS list,
  as_money(p.contracted) AS contracted
FROM parts p
JOIN routes r ON r.route = p.route
JOIN categories g ON g.number = p.category
JOIN rules_in_force u ON u.rule = r.rule
LEFT JOIN payers y ON y.payer_key = p.payer_key
LEFT JOIN attempts a ON a.attempt_key = p.payer_key
LEFT JOIN machines m ON m.machine = p.machine
