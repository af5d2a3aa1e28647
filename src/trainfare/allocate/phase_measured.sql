-- Weigh the phases of each divided attempt in each pot, day by day, by what was measured in them.
-- In: measured_use, period_hours, phase_hours. Out: the parts of the weights of step `measured_held` that were not kept
-- work, second by second as there, so that all parts add up to the weight.
WITH use_hours AS (
  SELECT target, attempt_key, starts, ends, amount, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour
  FROM measured_use WHERE attempt_key IN (SELECT attempt_key FROM phase_hours)
)
SELECT u.target, p.period, CAST(u.attempt_key AS BIGINT) * 65536 + u.hour // 24 AS payer_day, f.phase,
  CAST(sum(CAST(u.amount AS HUGEINT) * (least(u.ends, p.ends, f.ends) - u.starts) // (u.ends - u.starts)
    - CAST(u.amount AS HUGEINT) * (greatest(u.starts, p.starts, f.starts) - u.starts) // (u.ends - u.starts)) AS BIGINT)
    AS weight
FROM use_hours u
JOIN phase_hours f ON f.attempt_key = u.attempt_key AND f.hour = u.hour
JOIN period_hours p ON p.hour = u.hour
WHERE least(u.ends, p.ends, f.ends) > greatest(u.starts, p.starts, f.starts)
GROUP BY u.target, p.period, CAST(u.attempt_key AS BIGINT) * 65536 + u.hour // 24, f.phase
