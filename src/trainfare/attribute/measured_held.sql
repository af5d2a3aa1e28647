-- In: measured_use, period_cells. Out: what each attempt weighs in each pot by measurement, day by day. A measurement is spread evenly over its span; the whole part so far is handed
-- out second by second, so no unit is lost.
WITH cells AS (
  SELECT target, attempt_key, starts, ends, used, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour FROM measured_use
)
SELECT c.target, p.period, CAST(c.attempt_key AS BIGINT) * 65536 + c.hour // 24 AS piece,
  CAST(sum(CAST(c.used AS HUGEINT) * (least(c.ends, p.ends) - c.starts) // (c.ends - c.starts)
    - CAST(c.used AS HUGEINT) * (greatest(c.starts, p.starts) - c.starts) // (c.ends - c.starts)) AS BIGINT) AS weight
FROM cells c
JOIN period_cells p ON p.hour = c.hour
WHERE c.ends > p.starts AND p.ends > c.starts
GROUP BY c.target, p.period, CAST(c.attempt_key AS BIGINT) * 65536 + c.hour // 24
HAVING weight > 0
