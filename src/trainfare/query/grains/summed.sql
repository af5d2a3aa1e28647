-- Sum the shares by job, labels, machine and day, and by whether they are infrastructure or estimated.
-- In: grain_counted.
SELECT job, "set", site, named, machine, day, way_3 AS way, payer_number, {{sums}}
FROM grain_counted GROUP BY job, "set", site, named, machine, day, way_3, payer_number
