-- List the preempted attempts that held a spot machine while it was billed as one.
-- In: attempts, placements, spot_machines. Out: one row per attempt.
SELECT DISTINCT a.attempt_key
FROM attempts a
JOIN placements p ON p.attempt_key = a.attempt_key
JOIN spot_machines s ON s.machine = p.machine AND p.starts < s.last_second AND p.ends > s.first_second
WHERE a.state = 'preempted'
