-- In: holds. Out: what was held, cut at every full hour, so that any charge period can be met hour by hour.
SELECT target, attempt_key, grip, hour,
  greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
FROM (
  SELECT target, attempt_key, grip, starts, ends, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour
  FROM holds
  WHERE grip > 0 AND ends > starts
)
