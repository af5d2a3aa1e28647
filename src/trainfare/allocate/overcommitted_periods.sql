-- Find the pots whose holders cannot be weighed against a capacity: it is unknown, or more was held than there is.
-- In: timeline, sizes, period_hours. Out: the targets and periods in which that happens; their time is cut there, and
-- each interval is split across those who held the machine in it.
SELECT DISTINCT b.target, p.period
FROM (
  SELECT t.target, t.starts, t.ends, unnest(range(t.starts // 3600, (t.ends + 3599) // 3600)) AS hour
  FROM timeline t JOIN sizes s ON s.target = t.target
  WHERE s.capacity IS NULL OR t.held > s.capacity
) b
JOIN period_hours p ON p.hour = b.hour AND b.starts < p.ends AND b.ends > p.starts
