-- In: holdings, machines, covered, covered_parts. Out: what was held in the month and how much of it the bill covers. A holding that the bill covers with gaps has a row for each stretch without one. A job that still runs
-- counts up to where the bill is complete.
WITH told AS (
  SELECT h.*, c.machine, coalesce(p.first_second, c.first_second) AS first_second, coalesce(p.last_second, c.last_second) AS last_second,
    greatest(h.starts, coalesce(p.from_second, {{month_start}})) AS in_month,
    least(CASE WHEN h.running THEN greatest({{complete_through}}, h.starts) ELSE h.ends END, coalesce(p.to_second, {{month_end}})) AS out_of_month
  FROM holdings h
  JOIN covered c ON c.holding = h.holding
  LEFT JOIN covered_parts p ON p.holding = h.holding
  WHERE h.starts < {{month_end}} AND h.ends > {{month_start}}
)
SELECT t.attempt_key, t.machine, CASE WHEN t.machine IS NULL THEN t.machine_id END AS unknown_machine, t.in_month AS starts, t.out_of_month AS ends, t.running,
  coalesce(t.gpu_micros, m.gpu_micros) AS gpu_micros,
  CASE WHEN t.first_second IS NOT NULL THEN greatest(t.in_month, t.first_second) END AS billed_starts,
  CASE WHEN t.last_second IS NOT NULL THEN least(t.out_of_month, t.last_second) END AS billed_ends
FROM told t
LEFT JOIN machines m ON m.machine = t.machine
WHERE t.out_of_month > t.in_month
