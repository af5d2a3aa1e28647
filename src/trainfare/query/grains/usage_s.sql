-- Sum the measurements of attempts by labels, day and pair of regions.
-- In: grain_usage.
SELECT "set", day, measure, from_region, to_region, CAST(sum(value) AS DECIMAL(38,6)) AS value
FROM grain_usage GROUP BY "set", day, measure, from_region, to_region
ORDER BY measure, day
