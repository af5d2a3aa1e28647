-- Cut what was held at every full hour, so that any charge period can be matched hour by hour.
-- In: holds. Out: one row per hold and hour.
SELECT target, attempt_key, held_amount, hour,
  greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
FROM (
  SELECT target, attempt_key, held_amount, starts, ends, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour
  FROM {{holds}}
  WHERE held_amount > 0 AND ends > starts
)
