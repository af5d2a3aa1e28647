-- List what each second of each machine weighs in its cluster.
-- In: sizes and timeline of the clusters' machines. Out: one row per machine; a machine of unknown size has as much as
-- was held of it.
SELECT cluster AS target, capacity, existed_from, existed_to FROM sizes WHERE capacity IS NOT NULL
UNION ALL
SELECT s.cluster, t.held, t.starts, t.ends
FROM timeline t JOIN sizes s ON s.target = t.target
WHERE s.capacity IS NULL
