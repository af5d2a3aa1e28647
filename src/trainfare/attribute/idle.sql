-- In: held, capacities, periods. Out: what nobody held, as a payer of its own, day by day. Pots within one day that nobody held
-- at all are left out: they need no weighing, all of their money is idle.
WITH days AS (
  SELECT period, day, greatest(starts, day * 86400) AS starts, least(ends, day * 86400 + 86400) AS ends, ends - starts > 86400 OR starts // 86400 < (ends - 1) // 86400 AS long
  FROM (
    SELECT period, starts, ends, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS day
    FROM periods WHERE ends - starts BETWEEN {{shortest}} AND {{longest}}
      AND ends > {{first_second}} AND starts < {{last_second}}
  )
),
held_days AS (
  SELECT target, period, piece % 65536 AS day, CAST(sum(weight) AS BIGINT) AS held FROM held GROUP BY target, period, piece % 65536
),
wanted AS (
  SELECT target, period, day, held FROM held_days
  UNION ALL
  SELECT c.target, d.period, d.day, 0 FROM (SELECT DISTINCT target FROM capacities) c JOIN days d ON d.long
  WHERE NOT EXISTS (SELECT 1 FROM held_days h WHERE h.target = c.target AND h.period = d.period AND h.day = d.day)
)
SELECT w.target, w.period, CAST({{idle}} AS BIGINT) * 65536 + w.day AS piece,
  CAST(sum(c.capacity * greatest(least(d.ends, c.existed_to) - greatest(d.starts, c.existed_from), 0)) - any_value(w.held) AS BIGINT) AS weight
FROM wanted w
JOIN days d ON d.period = w.period AND d.day = w.day
JOIN capacities c ON c.target = w.target
GROUP BY w.target, w.period, w.day
HAVING sum(c.capacity * greatest(least(d.ends, c.existed_to) - greatest(d.starts, c.existed_from), 0)) > any_value(w.held)
