-- Sum the network cost of attempts by labels, day and pair of regions.
-- In: grain_egress.
SELECT "set", day, currency, from_region, to_region, {{sums}}
FROM grain_egress GROUP BY "set", day, currency, from_region, to_region
