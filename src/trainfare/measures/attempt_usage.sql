-- Add up the month's measurements per attempt, machine, day and pair of regions.
-- In: measured, usage_kinds, placements, machines. Out: all measures but steps and checkpoints, which count as work. A
-- measurement over several days is spread evenly over them, in integer millionths. Bytes without a source region come
-- from the machine's region, and have no kind.
WITH in_month AS (
  SELECT attempt_key, machine, starts, greatest(ends, starts + 1) AS ends, kind, value
  FROM measured
  WHERE kind IN (SELECT kind FROM usage_kinds WHERE measure NOT IN ('step', 'checkpoint'))
    AND starts < {{month_end}} AND greatest(ends, starts + 1) > {{month_start}}
),
over_days AS (
  SELECT *, CAST(value * 1000000 AS HUGEINT) AS micros, unnest(range(starts // 86400, (ends - 1) // 86400 + 1)) AS day
  FROM in_month WHERE starts // 86400 < (ends - 1) // 86400
),
daily AS (
  SELECT attempt_key, machine, starts // 86400 AS day, kind, CAST(value AS DECIMAL(38,6)) AS value
  FROM in_month WHERE starts // 86400 = (ends - 1) // 86400
  UNION ALL
  SELECT attempt_key, machine, day, kind,
    CAST(CAST(integer_part(micros, least(ends, day * 86400 + 86400) - starts, ends - starts)
      - integer_part(micros, greatest(starts, day * 86400) - starts, ends - starts) AS DECIMAL(32,0))
      * 0.000001 AS DECIMAL(38,6)) AS value
  FROM over_days WHERE day * 86400 >= {{month_start}} AND day * 86400 < {{month_end}}
),
added AS (
  SELECT attempt_key, machine, CAST(day AS INTEGER) AS day, kind, CAST(sum(value) AS DECIMAL(38,6)) AS value
  FROM daily GROUP BY attempt_key, machine, day, kind
),
without_source AS (
  SELECT kind, to_region FROM usage_kinds WHERE measure = 'bytes_sent' AND from_region IS NULL
)
SELECT a.attempt_key, a.machine, a.day, k.kind, k.measure,
  CASE WHEN k.measure = 'bytes_sent' THEN k.from_region END AS from_region, k.to_region, a.value
FROM added a JOIN usage_kinds k ON k.kind = a.kind
WHERE a.kind NOT IN (SELECT kind FROM without_source)
UNION ALL
SELECT a.attempt_key, a.machine, a.day, CAST(NULL AS INTEGER) AS kind, 'bytes_sent' AS measure,
  lower(m.region) AS from_region, n.to_region, a.value
FROM added a
JOIN without_source n ON n.kind = a.kind
LEFT JOIN (
  SELECT attempt_key, min(machine) AS machine FROM placements
  WHERE attempt_key IN (SELECT attempt_key FROM measured WHERE kind IN (SELECT kind FROM without_source))
  GROUP BY attempt_key
) f ON f.attempt_key = a.attempt_key
LEFT JOIN machines m ON m.machine = coalesce(a.machine, f.machine)
