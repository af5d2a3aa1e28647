-- List what was held in the month and how much of it the bill covers.
-- In: holdings, machines, billed_coverage, billed_coverage_parts. Out: one row per holding; one that the bill covers
-- with gaps has a row for each part without a gap. A running job counts up to the time through which the bill is
-- complete.
WITH parts AS (
  SELECT h.*, c.machine, coalesce(p.first_second, c.first_second) AS first_second,
    coalesce(p.last_second, c.last_second) AS last_second,
    greatest(h.starts, coalesce(p.from_second, {{month_start}})) AS part_starts,
    least(CASE WHEN h.running THEN greatest({{complete_through}}, h.starts) ELSE h.ends END,
      coalesce(p.to_second, {{month_end}})) AS part_ends
  FROM holdings h
  JOIN billed_coverage c ON c.holding = h.holding
  LEFT JOIN billed_coverage_parts p ON p.holding = h.holding
  WHERE h.starts < {{month_end}} AND h.ends > {{month_start}}
)
SELECT t.attempt_key, t.machine, CASE WHEN t.machine IS NULL THEN t.machine_id END AS unknown_machine,
  t.part_starts AS starts, t.part_ends AS ends, t.running, coalesce(t.gpu_micros, m.gpu_micros) AS gpu_micros,
  CASE WHEN t.first_second IS NOT NULL THEN greatest(t.part_starts, t.first_second) END AS billed_starts,
  CASE WHEN t.last_second IS NOT NULL THEN least(t.part_ends, t.last_second) END AS billed_ends
FROM parts t
LEFT JOIN machines m ON m.machine = t.machine
WHERE t.part_ends > t.part_starts
