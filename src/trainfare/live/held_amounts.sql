-- List which attempt held how much of which machine, from which second up to which.
-- In: placements, holds, attempts, machines. Out: one row per holding; without a machine where nothing knows its name.
SELECT m.resource, p.machine_id AS machine_name, a.job_id, a.attempt, CAST(h.held_amount AS BIGINT) AS amount,
  CAST(h.starts AS BIGINT) AS starts, CAST(h.ends AS BIGINT) AS ends
FROM (
  SELECT target, attempt_key, starts, ends, held_amount FROM holds WHERE ends > starts
) h
JOIN machines m ON m.machine = h.target
JOIN attempts a ON a.attempt_key = h.attempt_key
JOIN (SELECT machine, min(machine_id) AS machine_id FROM placements GROUP BY machine) p ON p.machine = h.target
UNION ALL
SELECT NULL, p.machine_id, a.job_id, a.attempt, 0, p.starts, p.ends
FROM placements p JOIN attempts a ON a.attempt_key = p.attempt_key
WHERE p.machine IS NULL AND p.ends > p.starts
