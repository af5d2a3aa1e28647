-- Split the spend pots across what was spent so far; a pot without any spend goes to its default payer.
-- In: spend_pots, spend_weights, special_payers, payers. Out: parts per route, category, payer, machine and day.
WITH weighted AS (
  SELECT p.route, p.category, w.payer_key, w.machine, w.day, w.weight, in_units(p.effective) AS effective,
    in_units(p.billed) AS billed, in_units(p.list) AS list, in_units(p.contracted) AS contracted
  FROM spend_pots p JOIN spend_weights w ON w.route = p.route
),
divided AS (
  {{split}}
)
SELECT route, category, payer_key, machine, day,
  as_money(effective) AS effective, as_money(billed) AS billed, as_money(list) AS list,
  as_money(contracted) AS contracted
FROM divided
UNION ALL
SELECT p.route, p.category, y.payer_key, NULL, p.day, p.effective, p.billed, p.list, p.contracted
FROM spend_pots p
JOIN special_payers x ON x.route = p.route AND x.category = p.category AND x.code = {{spend}}
JOIN payers y ON y.payer_kind = x.payer_kind AND y.payer = x.payer AND y.reason = x.reason
WHERE p.route NOT IN (SELECT route FROM spend_weights)
