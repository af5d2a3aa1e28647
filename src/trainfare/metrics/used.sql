-- In: measured, placements, machines. Out: what was measured in the month, added up per attempt, machine, day and pair of regions; steps and checkpoints are in the work. A measurement is spread evenly over
-- its span, in whole millionths.
WITH told AS (
  SELECT u.attempt_key, u.machine, u.starts, greatest(u.ends, u.starts + 1) AS ends, u.measure, CAST(u.value * 1000000 AS HUGEINT) AS micros,
    CASE WHEN u.measure = 'bytes_sent' THEN coalesce(u.from_region, lower(m.region)) END AS from_region, u.to_region
  FROM measured u
  LEFT JOIN (SELECT attempt_key, min(machine) AS machine FROM placements GROUP BY attempt_key) f ON f.attempt_key = u.attempt_key
  LEFT JOIN machines m ON m.machine = coalesce(u.machine, f.machine)
  WHERE u.measure NOT IN ('step', 'checkpoint') AND u.starts < {{month_end}} AND greatest(u.ends, u.starts + 1) > {{month_start}}
),
cut AS (
  SELECT *, whole_part(micros, least(ends, day * 86400 + 86400) - starts, ends - starts) - whole_part(micros, greatest(starts, day * 86400) - starts, ends - starts) AS part
  FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS day FROM told)
  WHERE day * 86400 >= {{month_start}} AND day * 86400 < {{month_end}}
)
SELECT attempt_key, machine, day, measure, from_region, to_region, CAST(sum(part) AS HUGEINT) AS micros
FROM cut GROUP BY attempt_key, machine, day, measure, from_region, to_region
