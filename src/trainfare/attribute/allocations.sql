-- In: line_parts, keyed_charges, keyed_kinds, slots, special_payers, payers, attempts, fixed_parts, spend_pots, spend_weights, channels. Out: each bill line with each payer's part of it and
-- the ratio of the part (in 10^-12, adding up to one for each line). Lines of one pot by spend or in fixed parts are added up one after the other, as pots of other rules are.
WITH direct AS (
  SELECT p.delivery, p.line, p.channel, p.category, coalesce(x.payer_key, CAST(p.piece // 65536 AS INTEGER)) AS payer_key, ch.machine, p.piece % 65536 AS day,
    CAST(p.weight AS HUGEINT) AS weight, CAST(p.whole AS HUGEINT) AS whole, p.effective, p.billed, p.list, p.contracted
  FROM line_parts p
  JOIN channels ch ON ch.channel = p.channel
  LEFT JOIN special_keys x ON x.channel = p.channel AND x.category = p.category AND x.code = p.piece // 65536
),
unweighed AS (
  SELECT c.delivery, c.line, k.channel, k.category, k.default_payer, epoch_second(c.period_start) // 86400 AS day, in_units(c.effective) AS effective,
    in_units(c.billed) AS billed, in_units(coalesce(c.list, 0)) AS list, in_units(coalesce(c.contracted, 0)) AS contracted
  FROM keyed_charges c
  JOIN keyed_kinds k ON k.kind = c.kind
  LEFT JOIN slots s ON s.target = k.target AND s.period = period_key(c.period_start, c.period_end)
  WHERE s.target IS NULL
),
weighed AS (
  SELECT u.delivery, u.line, u.channel, u.category, u.day AS pot_day, w.payer_key, w.machine, w.day, CAST(w.weight AS HUGEINT) AS weight
  FROM unweighed u JOIN spend_weights w ON w.channel = u.channel WHERE u.default_payer = {{spend}}
  UNION ALL
  SELECT u.delivery, u.line, u.channel, u.category, u.day, y.payer_key, NULL, u.day, f.part
  FROM unweighed u JOIN channels ch ON ch.channel = u.channel JOIN fixed_parts f ON f.rule = ch.rule
  JOIN payers y ON y.payer = f.payer AND y.reason = 'fixed part'
  WHERE u.default_payer = {{fixed}}
),
ranked AS (
  SELECT *, sum(weight) OVER (PARTITION BY delivery, line) AS whole,
    row_number() OVER (PARTITION BY delivery, line ORDER BY weight DESC, payer_key, machine, day) AS place
  FROM weighed
),
upto AS (
  SELECT delivery, line, default_payer, effective, billed, list, contracted,
    sum(effective) OVER pot AS effective_upto, sum(billed) OVER pot AS billed_upto, sum(list) OVER pot AS list_upto,
    sum(contracted) OVER pot AS contracted_upto
  FROM unweighed WHERE default_payer IN ({{spend}}, {{fixed}})
  WINDOW pot AS (PARTITION BY channel, category, CASE default_payer WHEN {{fixed}} THEN day END ORDER BY delivery, line ROWS UNBOUNDED PRECEDING)
),
grown AS (
  SELECT r.*,
    CASE WHEN place > 1 THEN whole_part(u.effective_upto, r.weight, r.whole) - whole_part(u.effective_upto - u.effective, r.weight, r.whole) ELSE 0 END AS effective_part,
    CASE WHEN place > 1 THEN whole_part(u.billed_upto, r.weight, r.whole) - whole_part(u.billed_upto - u.billed, r.weight, r.whole) ELSE 0 END AS billed_part,
    CASE WHEN place > 1 THEN whole_part(u.list_upto, r.weight, r.whole) - whole_part(u.list_upto - u.list, r.weight, r.whole) ELSE 0 END AS list_part,
    CASE WHEN place > 1 THEN whole_part(u.contracted_upto, r.weight, r.whole) - whole_part(u.contracted_upto - u.contracted, r.weight, r.whole) ELSE 0 END AS contracted_part,
    u.effective, u.billed, u.list, u.contracted
  FROM ranked r JOIN upto u ON u.delivery = r.delivery AND u.line = r.line
),
every AS (
  SELECT * FROM direct
  UNION ALL
  SELECT u.delivery, u.line, u.channel, u.category, x.payer_key, ch.machine, u.day, 1, 1, u.effective, u.billed, u.list, u.contracted
  FROM unweighed u
  JOIN channels ch ON ch.channel = u.channel
  JOIN special_keys x ON x.channel = u.channel AND x.category = u.category AND x.code = u.default_payer
  WHERE u.default_payer <> {{fixed}} AND NOT (u.default_payer = {{spend}} AND u.channel IN (SELECT channel FROM spend_weights))
  UNION ALL
  SELECT delivery, line, channel, category, payer_key, machine, day, weight, whole,
    CASE WHEN place > 1 THEN effective_part ELSE effective - sum(effective_part) OVER (PARTITION BY delivery, line) END,
    CASE WHEN place > 1 THEN billed_part ELSE billed - sum(billed_part) OVER (PARTITION BY delivery, line) END,
    CASE WHEN place > 1 THEN list_part ELSE list - sum(list_part) OVER (PARTITION BY delivery, line) END,
    CASE WHEN place > 1 THEN contracted_part ELSE contracted - sum(contracted_part) OVER (PARTITION BY delivery, line) END
  FROM grown
)
SELECT e.delivery, e.line, ch.origin, ch.currency, ch.converted_from, coalesce(y.payer_kind, 'attempt') AS payer_kind, coalesce(y.payer, a.job_id || '#' || a.attempt) AS payer, a.job_id, a.attempt, y.reason, m.machine_id, DATE '1970-01-01' + CAST(e.day AS INTEGER) AS day,
  g.category, r.name AS rule, r.among, coalesce(nullif(r."by", ''), 'gpu_seconds') AS weighed_by, e.weight, e.whole,
  CASE WHEN row_number() OVER line_ > 1 THEN whole_part(CAST(1000000000000 AS HUGEINT), e.weight, e.whole)
    ELSE 1000000000000 - (sum(whole_part(CAST(1000000000000 AS HUGEINT), e.weight, e.whole)) OVER (PARTITION BY e.delivery, e.line)
      - whole_part(CAST(1000000000000 AS HUGEINT), e.weight, e.whole)) END AS ratio,
  count(*) OVER (PARTITION BY e.delivery, e.line) AS parts,
  as_money(e.effective) AS effective, as_money(e.billed) AS billed, as_money(e.list) AS list, as_money(e.contracted) AS contracted
FROM every e
JOIN channels ch ON ch.channel = e.channel
JOIN categories g ON g.number = e.category
JOIN rules_in_force r ON r.rule = ch.rule
LEFT JOIN payers y ON y.payer_key = e.payer_key
LEFT JOIN attempts a ON a.attempt_key = e.payer_key
LEFT JOIN machines m ON m.machine = e.machine
WINDOW line_ AS (PARTITION BY e.delivery, e.line ORDER BY e.weight DESC, e.payer_key, e.machine, e.day)
