-- In: spend_pots, spend_weights. Out: the spend pots divided: the heaviest gets all and hands on the whole part of everybody else.
WITH slots AS (
  SELECT channel, sum(weight) AS whole,
    arg_min(struct_pack(payer_key := payer_key, machine := machine, day := day),
      struct_pack(size := -weight, payer_key := payer_key, machine := coalesce(machine, 0), day := day)) AS heaviest
  FROM spend_weights GROUP BY channel
),
handed AS (
  SELECT w.channel, p.category, w.payer_key, w.machine, w.day,
    whole_part(in_units(p.effective), w.weight, CAST(s.whole AS BIGINT)) AS effective,
    whole_part(in_units(p.billed), w.weight, CAST(s.whole AS BIGINT)) AS billed,
    whole_part(in_units(p.list), w.weight, CAST(s.whole AS BIGINT)) AS list,
    whole_part(in_units(p.contracted), w.weight, CAST(s.whole AS BIGINT)) AS contracted
  FROM spend_pots p
  JOIN slots s ON s.channel = p.channel
  JOIN spend_weights w ON w.channel = p.channel
  WHERE NOT (w.payer_key = s.heaviest.payer_key AND w.day = s.heaviest.day AND w.machine IS NOT DISTINCT FROM s.heaviest.machine)
),
kept AS (
  SELECT p.channel, p.category, s.heaviest.payer_key AS payer_key, s.heaviest.machine AS machine, s.heaviest.day AS day,
    in_units(p.effective) - coalesce(sum(h.effective), 0) AS effective,
    in_units(p.billed) - coalesce(sum(h.billed), 0) AS billed,
    in_units(p.list) - coalesce(sum(h.list), 0) AS list,
    in_units(p.contracted) - coalesce(sum(h.contracted), 0) AS contracted
  FROM spend_pots p
  JOIN slots s ON s.channel = p.channel
  LEFT JOIN handed h ON h.channel = p.channel AND h.category = p.category
  GROUP BY p.channel, p.category, s.heaviest, p.effective, p.billed, p.list, p.contracted
)
SELECT channel, category, payer_key, machine, day,
  as_money(effective) AS effective, as_money(billed) AS billed, as_money(list) AS list, as_money(contracted) AS contracted
FROM (SELECT * FROM handed UNION ALL SELECT * FROM kept)
UNION ALL
SELECT p.channel, p.category, y.payer_key, NULL, p.day, p.effective, p.billed, p.list, p.contracted
FROM spend_pots p
JOIN special_payers x ON x.channel = p.channel AND x.category = p.category AND x.code = {{spend}}
JOIN payers y ON y.payer_kind = x.payer_kind AND y.payer = x.payer AND y.reason = x.reason
WHERE p.channel NOT IN (SELECT channel FROM slots)
