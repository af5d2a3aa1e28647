-- List the ways by category, origin and currency, and in which figures they count.
-- In: grain_kinds, grain_standings.
SELECT DISTINCT k.way_2 * 8 + n.standing AS way, k.category, k.origin, k.currency, k.converted_from,
  k.is_infrastructure, k.estimated, {{standing_names}}
FROM grain_kinds k CROSS JOIN grain_standings n
