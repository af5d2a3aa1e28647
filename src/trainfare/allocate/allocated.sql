-- Add up what each payer and day holds per route after the remainder transfers.
-- In: pots, remainder_transfers. Out: one row per route and payer_day, in whole units, with one column per basis and
-- category.
SELECT route, payer_day, {{sums}}
FROM (
  SELECT route, payer_day, {{columns}} FROM pots
  UNION ALL
  SELECT route, to_payer_day, {{columns}} FROM remainder_transfers
  UNION ALL
  SELECT route, from_payer_day, {{negated}} FROM remainder_transfers
)
GROUP BY route, payer_day
