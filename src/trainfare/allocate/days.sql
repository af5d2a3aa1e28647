-- Cut the charge periods of one weighing at midnight.
-- In: periods. Out: one row per period and day, and whether the period has more than one day.
SELECT period, day, greatest(starts, day * 86400) AS starts, least(ends, day * 86400 + 86400) AS ends,
  starts // 86400 < (ends - 1) // 86400 AS long
FROM (
  SELECT period, starts, ends, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS day
  FROM periods WHERE ends - starts BETWEEN {{shortest}} AND {{longest}}
    AND ends > {{first_second}} AND starts < {{last_second}}
)
