-- Number every combination of measure and pair of regions: a few kinds for millions of measurements.
-- In: usage_rows.
SELECT CAST(row_number() OVER (ORDER BY measure, from_region, to_region) AS INTEGER) AS kind, measure, from_region,
  to_region
FROM (SELECT DISTINCT measure, lower(from_region) AS from_region, lower(to_region) AS to_region FROM usage_rows)
