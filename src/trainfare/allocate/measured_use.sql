-- List what attempts were measured to use within each target's scope.
-- In: measured, usage_kinds, placements, attempts, machines, targets of one weighing. Out: one row per measurement and
-- machine. What was measured for an attempt without naming a machine follows the machines it held meanwhile, each by the
-- seconds it was held; without any, all machines it ever held, equally. Bytes that stay within a region are not counted.
WITH used AS (
  SELECT u.attempt_key, u.machine, u.starts, greatest(u.ends, u.starts + 1) AS ends, k.kind, k.from_region,
    CAST(u.value AS BIGINT) AS amount
  FROM measured u JOIN usage_kinds k ON k.kind = u.kind
  WHERE k.measure = {{measure}} AND coalesce(k.from_region <> k.to_region, true) AND CAST(u.value AS BIGINT) > 0
),
whole AS (
  SELECT attempt_key, starts, ends, kind, from_region, CAST(sum(amount) AS BIGINT) AS amount
  FROM used WHERE machine IS NULL AND {{follows_machines}}
  GROUP BY attempt_key, starts, ends, kind, from_region
),
held_meanwhile AS (
  SELECT DISTINCT w.*, p.machine, greatest(p.starts, w.starts) AS held_from, least(p.ends, w.ends) AS held_to
  FROM whole w
  JOIN placements p ON p.attempt_key = w.attempt_key AND p.machine IS NOT NULL AND p.ends > w.starts
    AND p.starts < w.ends
),
held_ever AS (
  SELECT DISTINCT w.*, p.machine, w.starts AS held_from, w.ends AS held_to
  FROM whole w
  LEFT JOIN placements p ON p.attempt_key = w.attempt_key AND p.machine IS NOT NULL
  WHERE NOT EXISTS (
    SELECT 1 FROM held_meanwhile h
    WHERE h.attempt_key = w.attempt_key AND h.starts = w.starts AND h.ends = w.ends AND h.kind = w.kind)
),
counted AS (
  SELECT *, held_to - held_from AS seconds,
    CAST(sum(held_to - held_from) OVER (
      PARTITION BY attempt_key, starts, ends, kind ORDER BY machine, held_from, held_to ROWS UNBOUNDED PRECEDING
    ) AS BIGINT) AS seconds_to_here,
    CAST(sum(held_to - held_from) OVER (PARTITION BY attempt_key, starts, ends, kind) AS BIGINT) AS all_seconds
  FROM (SELECT * FROM held_meanwhile UNION ALL SELECT * FROM held_ever)
),
parts AS (
  SELECT attempt_key, machine, starts, ends, from_region, amount
  FROM used WHERE machine IS NOT NULL OR NOT {{follows_machines}}
  UNION ALL
  SELECT attempt_key, machine, held_from, held_to, from_region,
    CAST(CAST(amount AS HUGEINT) * seconds_to_here // all_seconds
      - CAST(amount AS HUGEINT) * (seconds_to_here - seconds) // all_seconds AS BIGINT)
  FROM counted
)
SELECT t.target, p.attempt_key, p.starts, p.ends, p.amount
FROM parts p
JOIN attempts a ON a.attempt_key = p.attempt_key
LEFT JOIN machines m ON m.machine = p.machine
JOIN targets t ON t.weighing = {{weighing}} AND {{same_scope}}
WHERE p.amount > 0
