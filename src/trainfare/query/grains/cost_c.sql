-- Sum cost by labels, site, payer, day, category and origin.
-- In: grain_counted.
SELECT "set", site, payer_number, day, way_2 AS way, {{sums}}
FROM grain_counted GROUP BY "set", site, payer_number, day, way_2
ORDER BY day, "set"
