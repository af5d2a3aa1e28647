-- In: slot_days. Out: per pot its whole weight and its heaviest piece (of equals the smallest), which gets what does not divide.
SELECT target, period, held + idle AS whole, pieces + CASE WHEN idle > 0 THEN 1 ELSE 0 END AS pieces,
  CASE WHEN idle > most THEN CAST({{idle}} AS BIGINT) ELSE holder END * 65536 + day AS heaviest
FROM slot_days WHERE NOT long AND held + idle > 0
UNION ALL
SELECT target, period, CAST(sum(held + idle) AS BIGINT), CAST(sum(pieces + CASE WHEN idle > 0 THEN 1 ELSE 0 END) AS BIGINT),
  number_of(max(heaviness(greatest(most, idle), CASE WHEN idle > most THEN CAST({{idle}} AS BIGINT) ELSE holder END * 65536 + day)))
FROM slot_days WHERE long
GROUP BY target, period
HAVING sum(held + idle) > 0
