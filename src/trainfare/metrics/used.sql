-- In: measured, placements, machines. Out: what was measured in the month, added up per attempt, machine, day and pair of regions; steps and checkpoints are in the work. A measurement that
-- lasts over several days is spread over them evenly, in whole millionths.
WITH told AS (
  SELECT u.attempt_key, u.machine, u.starts, greatest(u.ends, u.starts + 1) AS ends, u.measure, u.value,
    CASE WHEN u.measure = 'bytes_sent' THEN coalesce(u.from_region, lower(m.region)) END AS from_region, u.to_region
  FROM measured u
  LEFT JOIN (SELECT attempt_key, min(machine) AS machine FROM placements GROUP BY attempt_key) f ON f.attempt_key = u.attempt_key
  LEFT JOIN machines m ON m.machine = coalesce(u.machine, f.machine)
  WHERE u.measure NOT IN ('step', 'checkpoint') AND u.starts < {{month_end}} AND greatest(u.ends, u.starts + 1) > {{month_start}}
),
spread AS (
  SELECT *, CAST(value * 1000000 AS HUGEINT) AS micros, unnest(range(starts // 86400, (ends - 1) // 86400 + 1)) AS day
  FROM told WHERE starts // 86400 < (ends - 1) // 86400
),
cut AS (
  SELECT attempt_key, machine, starts // 86400 AS day, measure, from_region, to_region, CAST(value AS DECIMAL(38,6)) AS value
  FROM told WHERE starts // 86400 = (ends - 1) // 86400
  UNION ALL
  SELECT attempt_key, machine, day, measure, from_region, to_region,
    CAST(CAST(whole_part(micros, least(ends, day * 86400 + 86400) - starts, ends - starts)
      - whole_part(micros, greatest(starts, day * 86400) - starts, ends - starts) AS DECIMAL(32,0)) * 0.000001 AS DECIMAL(38,6)) AS value
  FROM spread WHERE day * 86400 >= {{month_start}} AND day * 86400 < {{month_end}}
)
SELECT attempt_key, machine, CAST(day AS INTEGER) AS day, measure, from_region, to_region, CAST(sum(value) AS DECIMAL(38,6)) AS value
FROM cut GROUP BY attempt_key, machine, day, measure, from_region, to_region
