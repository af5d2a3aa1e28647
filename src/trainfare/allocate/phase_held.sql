-- Weigh the phases of each divided attempt in each pot, day by day, by what it held in them.
-- In: hours of holds, period_hours, phase_hours. Out: the parts of the weights of step `held` that were not kept work.
SELECT h.target, p.period, CAST(h.attempt_key AS BIGINT) * 65536 + h.hour // 24 AS payer_day, f.phase,
  CAST(sum((least(h.ends, p.ends, f.ends) - greatest(h.starts, p.starts, f.starts)) * h.held_amount) AS BIGINT)
    AS weight
FROM {{hours}} h
JOIN phase_hours f ON f.attempt_key = h.attempt_key AND f.hour = h.hour
JOIN period_hours p ON p.hour = h.hour
WHERE least(h.ends, p.ends, f.ends) > greatest(h.starts, p.starts, f.starts) AND h.held_amount > 0 {{only}}
GROUP BY h.target, p.period, CAST(h.attempt_key AS BIGINT) * 65536 + h.hour // 24, f.phase
