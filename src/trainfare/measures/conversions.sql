-- Total what was converted from another currency, before and after conversion.
-- In: keyed_charges, routed_kinds, adjustment_conversions. Out: sums per rate, day and category; those of an adjustment
-- name the closed month.
SELECT c.converted_from, c.currency, CAST(c.period_start AS DATE) AS day, c.rate, c.rate_day, c.rate_source,
  CAST(NULL AS VARCHAR) AS adjusts, k.category, count(*) AS lines,
  sum(c.original_effective) AS original_effective, sum(c.original_billed) AS original_billed,
  coalesce(sum(c.original_list), 0) AS original_list, coalesce(sum(c.original_contracted), 0) AS original_contracted,
  sum(c.effective) AS effective, sum(c.billed) AS billed, coalesce(sum(c.list), 0) AS list,
  coalesce(sum(c.contracted), 0) AS contracted
FROM keyed_charges c JOIN routed_kinds k ON k.kind = c.kind
WHERE c.converted_from IS NOT NULL
GROUP BY c.converted_from, c.currency, CAST(c.period_start AS DATE), c.rate, c.rate_day, c.rate_source, k.category
UNION ALL
SELECT * FROM adjustment_conversions
