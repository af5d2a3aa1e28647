-- List the ways that tell infrastructure and estimates apart, per currency; a negative number is for time.
-- In: grain_kinds, grain_currencies, grain_standings.
SELECT DISTINCT k.way_3 * 8 + n.standing AS way, k.currency, k.is_infrastructure, k.estimated, {{standing_names}}
FROM grain_kinds k CROSS JOIN grain_standings n
UNION ALL
SELECT time_way, currency, true, false, {{counts_in_all}} FROM grain_currencies WHERE time_way < 0
