-- In: timeline, sizes, period_cells. Out: the pots whose holders cannot simply be weighed against a capacity: it is unknown, or more was held
-- than there is, at some time within the pot's own period. Time is cut there, and each stretch goes to those who held in it.
SELECT DISTINCT b.target, p.period
FROM (
  SELECT t.target, t.starts, t.ends, unnest(range(t.starts // 3600, (t.ends + 3599) // 3600)) AS hour
  FROM timeline t JOIN sizes s ON s.target = t.target
  WHERE s.capacity IS NULL OR t.held > s.capacity
) b
JOIN period_cells p ON p.hour = b.hour AND b.starts < p.ends AND b.ends > p.starts
