-- Sum cost by machine, payer and day.
-- In: grain_summed.
SELECT machine, site, payer_number, day, way, {{sums}}
FROM grain_summed GROUP BY machine, site, payer_number, day, way
