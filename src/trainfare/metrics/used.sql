-- In: measured, usage_kinds, placements, machines. Out: what was measured in the month, added up per attempt, machine, day and pair of regions; steps and checkpoints are in the work. A measurement that
-- lasts over several days is spread over them evenly, in whole millionths. Bytes without a region of origin come from where the machine is, and have no kind.
WITH told AS (
  SELECT attempt_key, machine, starts, greatest(ends, starts + 1) AS ends, kind, value
  FROM measured
  WHERE kind IN (SELECT kind FROM usage_kinds WHERE measure NOT IN ('step', 'checkpoint'))
    AND starts < {{month_end}} AND greatest(ends, starts + 1) > {{month_start}}
),
spread AS (
  SELECT *, CAST(value * 1000000 AS HUGEINT) AS micros, unnest(range(starts // 86400, (ends - 1) // 86400 + 1)) AS day
  FROM told WHERE starts // 86400 < (ends - 1) // 86400
),
cut AS (
  SELECT attempt_key, machine, starts // 86400 AS day, kind, CAST(value AS DECIMAL(38,6)) AS value
  FROM told WHERE starts // 86400 = (ends - 1) // 86400
  UNION ALL
  SELECT attempt_key, machine, day, kind,
    CAST(CAST(whole_part(micros, least(ends, day * 86400 + 86400) - starts, ends - starts)
      - whole_part(micros, greatest(starts, day * 86400) - starts, ends - starts) AS DECIMAL(32,0)) * 0.000001 AS DECIMAL(38,6)) AS value
  FROM spread WHERE day * 86400 >= {{month_start}} AND day * 86400 < {{month_end}}
),
added AS (
  SELECT attempt_key, machine, CAST(day AS INTEGER) AS day, kind, CAST(sum(value) AS DECIMAL(38,6)) AS value
  FROM cut GROUP BY attempt_key, machine, day, kind
),
from_nowhere AS (
  SELECT kind, to_region FROM usage_kinds WHERE measure = 'bytes_sent' AND from_region IS NULL
)
SELECT a.attempt_key, a.machine, a.day, k.kind, k.measure, CASE WHEN k.measure = 'bytes_sent' THEN k.from_region END AS from_region, k.to_region, a.value
FROM added a JOIN usage_kinds k ON k.kind = a.kind
WHERE a.kind NOT IN (SELECT kind FROM from_nowhere)
UNION ALL
SELECT a.attempt_key, a.machine, a.day, CAST(NULL AS INTEGER) AS kind, 'bytes_sent' AS measure, lower(m.region) AS from_region, n.to_region, a.value
FROM added a
JOIN from_nowhere n ON n.kind = a.kind
LEFT JOIN (
  SELECT attempt_key, min(machine) AS machine FROM placements
  WHERE attempt_key IN (SELECT attempt_key FROM measured WHERE kind IN (SELECT kind FROM from_nowhere)) GROUP BY attempt_key
) f ON f.attempt_key = a.attempt_key
LEFT JOIN machines m ON m.machine = coalesce(a.machine, f.machine)
