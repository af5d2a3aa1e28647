-- In: holdings, placements, machines, covered. Out: what was held in the month and how much of it the bill covers. A job that still runs counts up
-- to where the bill is complete.
WITH told AS (
  SELECT *, greatest(starts, {{month_start}}) AS in_month,
    least(CASE WHEN running THEN greatest({{complete_through}}, starts) ELSE ends END, {{month_end}}) AS out_of_month
  FROM holdings
  WHERE starts < {{month_end}} AND ends > {{month_start}}
),
placed AS (
  SELECT holding, min(machine) AS machine FROM placements GROUP BY holding
)
SELECT t.attempt_key, p.machine, CASE WHEN p.machine IS NULL THEN t.machine_id END AS unknown_machine, t.in_month AS starts, t.out_of_month AS ends, t.running,
  coalesce(t.gpu_micros, m.gpu_micros) AS gpu_micros,
  CASE WHEN c.first_second IS NOT NULL THEN greatest(t.in_month, c.first_second) END AS billed_starts,
  CASE WHEN c.last_second IS NOT NULL THEN least(t.out_of_month, c.last_second) END AS billed_ends
FROM told t
LEFT JOIN placed p ON p.holding = t.holding
LEFT JOIN machines m ON m.machine = p.machine
LEFT JOIN covered c ON c.holding = t.holding
WHERE t.out_of_month > t.in_month
