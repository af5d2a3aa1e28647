-- Sum cost by machine, payer and day.
-- In: grain_shares.
SELECT machine, site, payer_number, day, way_3 AS way, {{sums}}
FROM grain_shares GROUP BY machine, site, payer_number, day, way_3
ORDER BY machine, day
