-- Weigh each attempt in each pot, day by day, by what was measured.
-- In: measured_use, period_hours. Out: weights. A measurement is spread evenly over its time span; the integer part of
-- its running sum is handed out second by second, so no unit is lost.
WITH use_hours AS (
  SELECT target, attempt_key, starts, ends, amount, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour
  FROM measured_use
)
SELECT u.target, p.period, CAST(u.attempt_key AS BIGINT) * 65536 + u.hour // 24 AS payer_day,
  CAST(sum(CAST(u.amount AS HUGEINT) * (least(u.ends, p.ends) - u.starts) // (u.ends - u.starts)
    - CAST(u.amount AS HUGEINT) * (greatest(u.starts, p.starts) - u.starts) // (u.ends - u.starts)) AS BIGINT) AS weight
FROM use_hours u
JOIN period_hours p ON p.hour = u.hour
WHERE u.ends > p.starts AND p.ends > u.starts
GROUP BY u.target, p.period, CAST(u.attempt_key AS BIGINT) * 65536 + u.hour // 24
HAVING weight > 0
