-- In: usage_rows. Out: every measure with its pair of regions, numbered. There are millions of measurements and only a few of these.
SELECT CAST(row_number() OVER (ORDER BY measure, from_region, to_region) AS INTEGER) AS kind, measure, from_region, to_region
FROM (SELECT DISTINCT measure, lower(from_region) AS from_region, lower(to_region) AS to_region FROM usage_rows)
