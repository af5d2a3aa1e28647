-- Give every direct part its payer, and split what a rule gives out in fixed parts.
-- In: direct_parts, special_payers, payers, routes, fixed_parts. Out: parts per route, category, payer and day.
WITH weighted AS (
  SELECT d.route, d.category, f.payer, d.payer_day % 65536 AS day, f.part AS weight, in_units(d.effective) AS effective,
    in_units(d.billed) AS billed, in_units(d.list) AS list, in_units(d.contracted) AS contracted
  FROM direct_parts d
  JOIN routes r ON r.route = d.route
  JOIN fixed_parts f ON f.rule = r.rule
  WHERE d.payer_day // 65536 = {{fixed}}
),
divided AS (
  {{split}}
)
SELECT d.route, d.category, CAST(d.payer_day // 65536 AS INTEGER) AS payer_key, d.payer_day % 65536 AS day,
  d.effective, d.billed, d.list, d.contracted
FROM direct_parts d WHERE d.payer_day // 65536 < {{first_special}}
UNION ALL
SELECT d.route, d.category, p.payer_key, d.payer_day % 65536, d.effective, d.billed, d.list, d.contracted
FROM direct_parts d
JOIN special_payers s ON s.route = d.route AND s.category = d.category AND s.code = d.payer_day // 65536
JOIN payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer AND p.reason = s.reason
WHERE d.payer_day // 65536 >= {{first_special}} AND d.payer_day // 65536 NOT IN ({{fixed}}, {{spend}})
UNION ALL
SELECT f.route, f.category, p.payer_key, f.day,
  as_money(f.effective), as_money(f.billed), as_money(f.list), as_money(f.contracted)
FROM divided f JOIN payers p ON p.payer = f.payer AND p.reason = 'fixed part'
