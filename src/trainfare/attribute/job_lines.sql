-- In: line_parts, keyed_charges, keyed_kinds, channels, rules_in_force, attempts, machines. Out: the bill lines a job pays a part of, with the arithmetic.
SELECT a.attempt, r.name AS rule, r.among, coalesce(nullif(r."by", ''), 'gpu_seconds') AS weighed_by, g.category, ch.currency,
  coalesce(m.machine_id, ch.shown_scope) AS scope, c.period_start, c.period_end,
  DATE '1970-01-01' + CAST(p.piece % 65536 AS INTEGER) AS day, p.weight, p.whole,
  p.delivery, p.line, c.source, c.description, c.sku_id,
  c.converted_from, c.rate, c.rate_day, c.rate_source, c.original_effective, c.original_billed, c.original_list, c.original_contracted,
  c.effective AS line_effective, c.billed AS line_billed, c.list AS line_list, c.contracted AS line_contracted,
  as_money(p.effective) AS effective, as_money(p.billed) AS billed, as_money(p.list) AS list, as_money(p.contracted) AS contracted
FROM line_parts p
JOIN attempts a ON a.attempt_key = p.piece // 65536
JOIN channels ch ON ch.channel = p.channel
JOIN categories g ON g.number = p.category
JOIN rules_in_force r ON r.rule = ch.rule
LEFT JOIN machines m ON m.machine = ch.machine
JOIN keyed_charges c ON c.delivery = p.delivery AND c.line = p.line
JOIN keyed_kinds k ON k.kind = c.kind AND k.channel = p.channel AND k.category = p.category
WHERE a.job_id = {{job}}
