-- Sum cost by labels, site, payer, day, category and origin.
-- In: grain_shares.
SELECT "set", site, payer_number, day, way_2 AS way, {{sums}}
FROM grain_shares GROUP BY "set", site, payer_number, day, way_2
ORDER BY day, "set"
