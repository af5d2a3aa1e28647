-- Sum cost by labels, payer, day, category and origin.
-- In: grain_cost_c.
SELECT "set", payer_number, day, way, {{sums}}
FROM grain_cost_c GROUP BY "set", payer_number, day, way
ORDER BY day, "set"
