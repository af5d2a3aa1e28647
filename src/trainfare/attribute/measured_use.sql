-- In: measured, usage_kinds, placements, attempts, machines, targets of one weighing. Out: what attempts were measured to use within each target's scope. What was measured about an attempt as a whole
-- counts for the first of its machines. Bytes that stay within a region are not counted.
SELECT t.target, p.attempt_key, p.starts, greatest(p.ends, p.starts + 1) AS ends, CAST(p.value AS BIGINT) AS used
FROM (
  SELECT u.attempt_key, coalesce(u.machine, f.machine) AS machine, u.starts, u.ends, u.value, k.from_region
  FROM measured u JOIN usage_kinds k ON k.kind = u.kind LEFT JOIN (SELECT attempt_key, min(machine) AS machine FROM placements GROUP BY attempt_key) f ON f.attempt_key = u.attempt_key
  WHERE k.measure = {{measure}} AND coalesce(k.from_region <> k.to_region, true)
) p
JOIN attempts a ON a.attempt_key = p.attempt_key
LEFT JOIN machines m ON m.machine = p.machine
JOIN targets t ON t.weighing = {{weighing}} AND {{same_scope}}
WHERE CAST(p.value AS BIGINT) > 0
