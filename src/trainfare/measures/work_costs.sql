-- List the lost and overhead cost of attempts, as a book stores it.
-- In: phase_costs, lost_attempts, stored_shares, work_phases. Out: parts of shares with the share's keys, as numbers. All
-- that an entirely lost attempt pays is lost.
SELECT c.attempt_key, c.share_kind, c.machine, c.day, p.part, p.phase, false AS bounded,
  c.effective, c.billed, c.list, c.contracted
FROM phase_costs c JOIN work_phases p ON p.number = c.phase
UNION ALL
SELECT s.payer_key, s.share_kind, s.machine, s.day, p.part, p.phase, l.bounded,
  s.effective, s.billed, s.list, s.contracted
FROM stored_shares s
JOIN lost_attempts l ON l.attempt_key = s.payer_key
JOIN work_phases p ON p.number = 1
