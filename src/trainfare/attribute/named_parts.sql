-- In: direct_parts, special_payers, payers, fixed_parts. Out: direct parts with their payers named. What a rule gives in fixed parts is divided here,
-- the same way as every pot: the largest part gets it all and hands on.
WITH sizes AS (
  SELECT rule, sum(part) AS whole, arg_min(payer, struct_pack(size := -part, name := payer)) AS heaviest
  FROM fixed_parts GROUP BY rule
),
fixed AS (
  SELECT d.channel, d.category, f.payer, d.piece % 65536 AS day, f.payer = s.heaviest AS is_heaviest, f.part, s.whole,
    d.effective, d.billed, d.list, d.contracted
  FROM direct_parts d
  JOIN channels c ON c.channel = d.channel
  JOIN fixed_parts f ON f.rule = c.rule
  JOIN sizes s ON s.rule = c.rule
  WHERE d.piece // 65536 = {{fixed}}
),
handed AS (
  SELECT *,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(in_units(effective), part, whole) END AS effective_part,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(in_units(billed), part, whole) END AS billed_part,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(in_units(list), part, whole) END AS list_part,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(in_units(contracted), part, whole) END AS contracted_part
  FROM fixed
),
settled AS (
  SELECT channel, category, payer, day,
    CASE WHEN is_heaviest THEN in_units(effective) - sum(effective_part) OVER pot ELSE effective_part END AS effective,
    CASE WHEN is_heaviest THEN in_units(billed) - sum(billed_part) OVER pot ELSE billed_part END AS billed,
    CASE WHEN is_heaviest THEN in_units(list) - sum(list_part) OVER pot ELSE list_part END AS list,
    CASE WHEN is_heaviest THEN in_units(contracted) - sum(contracted_part) OVER pot ELSE contracted_part END AS contracted
  FROM handed WINDOW pot AS (PARTITION BY channel, category, day)
)
SELECT d.channel, d.category, CAST(d.piece // 65536 AS INTEGER) AS payer_key, d.piece % 65536 AS day,
  d.effective, d.billed, d.list, d.contracted
FROM direct_parts d WHERE d.piece // 65536 < {{first_special}}
UNION ALL
SELECT d.channel, d.category, p.payer_key, d.piece % 65536, d.effective, d.billed, d.list, d.contracted
FROM direct_parts d
JOIN special_payers s ON s.channel = d.channel AND s.category = d.category AND s.code = d.piece // 65536
JOIN payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer AND p.reason = s.reason
WHERE d.piece // 65536 >= {{first_special}} AND d.piece // 65536 NOT IN ({{fixed}}, {{spend}})
UNION ALL
SELECT s.channel, s.category, p.payer_key, s.day, as_money(s.effective), as_money(s.billed), as_money(s.list), as_money(s.contracted)
FROM settled s JOIN payers p ON p.payer = s.payer AND p.reason = 'fixed part'
