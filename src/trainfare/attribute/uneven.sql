-- In: timeline, sizes. Out: the targets whose holders cannot simply be weighed against a capacity: it is unknown, or
-- more was held than there is. Time is cut there, and each stretch goes to those who held in it.
SELECT s.target, s.capacity, max(t.held) AS most_held,
  coalesce(bool_or(t.held > s.capacity), false) AS beyond
FROM sizes s JOIN timeline t ON t.target = s.target
GROUP BY s.target, s.capacity
HAVING s.capacity IS NULL OR bool_or(t.held > s.capacity)
