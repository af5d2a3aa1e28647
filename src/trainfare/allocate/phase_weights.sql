-- Weigh the kept work and the other phases of each divided attempt in each pot.
-- In: held, held_phases. Out: per pot and payer_day its weight in the pot, w0 for kept work, and w1 to w4 by the number of
-- the phase; only where anything but kept work has a weight.
WITH phases AS (
  SELECT target, period, payer_day, {{phases}} FROM held_phases GROUP BY target, period, payer_day
),
days AS (
  SELECT h.target, h.period, h.payer_day, h.weight, {{known_phases}}
  FROM held h LEFT JOIN phases f ON f.target = h.target AND f.period = h.period AND f.payer_day = h.payer_day
  WHERE h.payer_day // 65536 IN (SELECT attempt_key FROM phase_hours)
)
SELECT target, period, min(payer_day) AS payer_day, CAST({{weight}} AS BIGINT) AS weight,
  CAST(sum(weight - w1 - w2 - w3 - w4) AS BIGINT) AS w0, {{sums}}
FROM days
GROUP BY target, period, {{payer}}
HAVING sum(w1 + w2 + w3 + w4) > 0
