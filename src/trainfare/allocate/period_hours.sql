-- Cut the charge periods of one weighing at every full hour.
-- In: periods. Out: one row per period and hour, for periods as long as those of the weighing's charges.
SELECT period, hour, greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
FROM (
  SELECT period, starts, ends, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour
  FROM periods WHERE ends - starts BETWEEN {{shortest}} AND {{longest}}
    AND ends > {{first_second}} AND starts < {{last_second}}
)
