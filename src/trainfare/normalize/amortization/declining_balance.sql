-- Compute the declining-balance depreciation of each machine per month of its service, in integer units.
-- In: hardware_rows. Out: factor / life of the remaining value, or an equal part of the rest if that is more. The last
-- month brings it to its salvage value exactly.
WITH RECURSIVE book_value AS (
  SELECT delivery, line, CAST(0 AS INTEGER) AS month, in_units(price) AS remaining, CAST(0 AS HUGEINT) AS depreciation,
    life_months, in_units(salvage) AS salvage, CAST(factor * 10000 AS HUGEINT) AS factor
  FROM hardware_rows WHERE method = 'declining'
  UNION ALL
  SELECT delivery, line, month + 1, remaining - part, part, life_months, salvage, factor
  FROM (
    SELECT *, CASE WHEN month + 1 = life_months THEN remaining - salvage
      ELSE least(remaining - salvage, greatest(
        remaining * factor // (10000 * CAST(life_months AS HUGEINT)),
        (remaining - salvage) // (life_months - month)))
      END AS part
    FROM book_value WHERE month < life_months
  )
)
SELECT delivery, line, month - 1 AS month, depreciation FROM book_value WHERE month > 0
