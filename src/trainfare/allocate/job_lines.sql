-- List the bill lines that a job pays a part of, with the arithmetic behind each part.
-- In: line_parts, keyed_charges, kind_routes, named_routes, categories, attempts. Out: one row per line, attempt and
-- day.
SELECT a.attempt, n.rule, n.among, n.weighed_by, g.category, n.currency, n.scope, c.period_start, c.period_end,
  DATE '1970-01-01' + CAST(p.payer_day % 65536 AS INTEGER) AS day, p.weight, p.total_weight,
  p.delivery, p.line, c.source, c.description, c.sku_id, n.source AS route_source, n.origin, n.account, n.resource_id,
  c.converted_from, c.rate, c.rate_day, c.rate_source,
  c.original_effective, c.original_billed, c.original_list, c.original_contracted,
  c.effective AS line_effective, c.billed AS line_billed, c.list AS line_list, c.contracted AS line_contracted,
  as_money(p.effective) AS effective, as_money(p.billed) AS billed, as_money(p.list) AS list,
  as_money(p.contracted) AS contracted
FROM line_parts p
JOIN attempts a ON a.attempt_key = p.payer_day // 65536
JOIN named_routes n ON n.route = p.route
JOIN categories g ON g.number = p.category
JOIN keyed_charges c ON c.delivery = p.delivery AND c.line = p.line
JOIN kind_routes k ON k.kind = c.kind AND k.route = p.route AND k.category = p.category
WHERE a.job_id = {{job}}
