-- Weigh each attempt in each pot, day by day, by what it held.
-- In: hold_hours or overcommitted_hours, period_hours. Out: weights; payer_day is payer * 65536 + day.
SELECT h.target, p.period, CAST(h.attempt_key AS BIGINT) * 65536 + h.hour // 24 AS payer_day,
  CAST({{sum}}((least(h.ends, p.ends) - greatest(h.starts, p.starts)) * h.held_amount) AS BIGINT) AS weight
FROM {{hours}} h
JOIN period_hours p ON p.hour = h.hour
WHERE h.ends > p.starts AND p.ends > h.starts AND h.held_amount > 0 {{only}}
{{group_by}}
