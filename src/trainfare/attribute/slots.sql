-- In: slot_days. Out: per pot its whole weight and its heaviest piece (of equals the smallest), which gets what does not divide.
SELECT target, period, whole, pieces, piece_of(heaviest) AS heaviest
FROM (
  SELECT target, period, held + idle AS whole, pieces + CASE WHEN idle > 0 THEN 1 ELSE 0 END AS pieces,
    greatest(heaviest, CASE WHEN idle > 0 THEN heaviness(idle, CAST({{idle}} AS BIGINT) * 65536 + day) ELSE 0 END) AS heaviest
  FROM slot_days WHERE NOT long
  UNION ALL
  SELECT target, period, CAST(sum(held + idle) AS BIGINT), CAST(sum(pieces + CASE WHEN idle > 0 THEN 1 ELSE 0 END) AS BIGINT),
    max(greatest(heaviest, CASE WHEN idle > 0 THEN heaviness(idle, CAST({{idle}} AS BIGINT) * 65536 + day) ELSE 0 END))
  FROM slot_days WHERE long GROUP BY target, period
)
WHERE whole > 0
