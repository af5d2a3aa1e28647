-- List the ways with all that a share states, and in which figures it counts; a negative number is for time.
-- In: grain_kinds, grain_currencies, grain_standings.
SELECT DISTINCT k.way_1 * 8 + n.standing AS way, k.rule, k.category, k.source, k.origin, k.account, k.currency,
  k.converted_from, k.is_infrastructure, k.estimated, {{standing_names}}
FROM grain_kinds k CROSS JOIN grain_standings n
UNION ALL
SELECT -number, NULL, NULL, NULL, NULL, NULL, currency, NULL, true, false, {{counts_in_all}} FROM grain_currencies
