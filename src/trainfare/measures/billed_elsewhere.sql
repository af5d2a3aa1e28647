-- Find the time outside the month for which holdings share in charges of this book: its bill may begin or end at
-- another hour than the month, or come late.
-- In: placements, attempts, machines, billed_spans. Out: the job, attempt and machine by name, and each billed span.
SELECT a.job_id, a.attempt, p.machine_id, m.resource_id, o.starts, o.ends
FROM (
  {{overlaps}}
) o
JOIN placements p ON p.holding = o.holding
JOIN attempts a ON a.attempt_key = p.attempt_key
LEFT JOIN machines m ON m.machine = p.machine
WHERE o.ends > o.starts
