-- List the bill lines that are allocated to nobody, and what nobody pays of pots that are split by spend.
-- In: keyed_charges, kind_routes, weight_totals, special_payers, named_routes, categories, spend_weights, spend_parts,
-- payers, fixed_unallocated. Out: one row per line, and one per spend pot, machine and day, which has no line. The rows
-- add up to the unallocated shares of the book.
WITH parts AS (
  SELECT c.delivery, c.line, k.route, k.category, CAST(epoch_second(c.period_start) // 86400 AS INTEGER) AS day, x.reason,
    CAST(NULL AS INTEGER) AS machine, c.effective, c.billed, coalesce(c.list, 0) AS list,
    coalesce(c.contracted, 0) AS contracted
  FROM keyed_charges c
  JOIN kind_routes k ON k.kind = c.kind
  JOIN special_payers x ON x.route = k.route AND x.category = k.category AND x.code = k.default_payer
  LEFT JOIN weight_totals w ON w.target = k.target AND w.period = period_key(c.period_start, c.period_end)
  WHERE w.target IS NULL AND x.payer_kind = 'unallocated' AND k.default_payer <> {{fixed}}
    AND NOT (k.default_payer = {{spend}} AND k.route IN (SELECT route FROM spend_weights))
  UNION ALL
  SELECT delivery, line, route, category, day, reason, NULL, effective, billed, list, contracted
  FROM fixed_unallocated
  UNION ALL
  SELECT NULL, NULL, s.route, s.category, CAST(s.day AS INTEGER), y.reason, s.machine,
    s.effective, s.billed, s.list, s.contracted
  FROM spend_parts s JOIN payers y ON y.payer_key = s.payer_key
  WHERE y.payer_kind = 'unallocated'
)
SELECT p.delivery, p.line, DATE '1970-01-01' + CAST(p.day AS INTEGER) AS day, p.reason, g.category, n.rule, n.currency,
  n.source AS route_source, n.origin, n.account, coalesce(m.resource_id, n.resource_id) AS machine_resource,
  c.period_start, c.period_end, c.service_name AS service, c.resource_id, c.description, c.tags,
  p.effective, p.billed, p.list, p.contracted,
  c.effective AS line_effective, c.billed AS line_billed, c.list AS line_list, c.contracted AS line_contracted
FROM parts p
JOIN named_routes n ON n.route = p.route
JOIN categories g ON g.number = p.category
LEFT JOIN machines m ON m.machine = p.machine
LEFT JOIN keyed_charges c ON c.delivery = p.delivery AND c.line = p.line
