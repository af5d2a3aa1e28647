-- Sum cost by labels, payer, day, category and origin.
-- In: grain_counted.
SELECT "set", payer_number, day, way_2 AS way, {{sums}}
FROM grain_counted GROUP BY "set", payer_number, day, way_2
