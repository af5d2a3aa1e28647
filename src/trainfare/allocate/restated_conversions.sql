-- Compare what was converted in a rebuilt closed month with everything that is booked for it.
-- In: rebuilt_conversions, booked_conversions. Out: the differences per rate, day and category.
SELECT converted_from, currency, day, rate, rate_day, rate_source, {{month}} AS adjusts, category,
  CAST(sum(lines) AS BIGINT) AS lines, sum(original_effective) AS original_effective,
  sum(original_billed) AS original_billed, sum(original_list) AS original_list,
  sum(original_contracted) AS original_contracted, sum(effective) AS effective, sum(billed) AS billed,
  sum(list) AS list, sum(contracted) AS contracted
FROM (
  SELECT converted_from, currency, day, rate, rate_day, rate_source, category, lines, original_effective,
    original_billed, original_list, original_contracted, effective, billed, list, contracted
  FROM rebuilt_conversions
  UNION ALL
  SELECT converted_from, currency, day, rate, rate_day, rate_source, category, 0, -original_effective,
    -original_billed, -original_list, -original_contracted, -effective, -billed, -list, -contracted
  FROM booked_conversions
)
GROUP BY converted_from, currency, day, rate, rate_day, rate_source, category
HAVING sum(effective) <> 0 OR sum(billed) <> 0 OR sum(list) <> 0 OR sum(contracted) <> 0
