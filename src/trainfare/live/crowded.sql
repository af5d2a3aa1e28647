-- Find when more of a machine was held than there is of it, or its size is unknown.
-- In: timeline, sizes, machines. Out: intervals; in them, each second is split across those who held the machine.
SELECT m.resource, CAST(t.starts AS BIGINT) AS starts, CAST(t.ends AS BIGINT) AS ends
FROM timeline t
JOIN sizes s ON s.target = t.target
JOIN machines m ON m.machine = s.machine
WHERE s.capacity IS NULL OR t.held > s.capacity
