-- Sum cost by labels, payer, day and all that a share states besides machines.
-- In: grain_counted.
SELECT "set", payer_number, day, way, {{sums}}
FROM grain_counted GROUP BY "set", payer_number, day, way
ORDER BY day, "set"
