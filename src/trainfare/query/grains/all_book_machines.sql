-- List the machines of a book, and those that only other books have shares of for its days.
-- In: book_machines, foreign_shares, foreign_machines. Out: a machine in several other books is as in the first listed.
SELECT * FROM book_machines
UNION ALL BY NAME
SELECT f.* EXCLUDE (age) REPLACE (CAST(n.last + row_number() OVER (ORDER BY lower(f.resource_id)) AS INTEGER) AS machine)
FROM (
  SELECT * FROM foreign_machines
  QUALIFY row_number() OVER (PARTITION BY lower(resource_id) ORDER BY age) = 1
) f
JOIN (SELECT DISTINCT lower(resource_id) AS resource FROM foreign_shares) s ON s.resource = lower(f.resource_id)
LEFT JOIN book_machines m ON lower(m.resource_id) = s.resource
CROSS JOIN (SELECT coalesce(max(machine), 0) AS last FROM book_machines) n
WHERE m.machine IS NULL
