-- In: hardware_rows. Out: what each machine on declining balance loses in each month of its service, in whole units: factor / life of what it
-- is still worth, or an equal part of what is left if that is more. The last month takes it to its salvage, exactly.
WITH RECURSIVE worth AS (
  SELECT delivery, line, CAST(0 AS INTEGER) AS month, in_units(price) AS left_over, CAST(0 AS HUGEINT) AS lost, life_months,
    in_units(salvage) AS salvage, CAST(factor * 10000 AS HUGEINT) AS factor
  FROM hardware_rows WHERE method = 'declining'
  UNION ALL
  SELECT delivery, line, month + 1, left_over - part, part, life_months, salvage, factor
  FROM (
    SELECT *, CASE WHEN month + 1 = life_months THEN left_over - salvage
      ELSE least(left_over - salvage, greatest(left_over * factor // (10000 * CAST(life_months AS HUGEINT)), (left_over - salvage) // (life_months - month)))
      END AS part
    FROM worth WHERE month < life_months
  )
)
SELECT delivery, line, month - 1 AS month, lost FROM worth WHERE month > 0
