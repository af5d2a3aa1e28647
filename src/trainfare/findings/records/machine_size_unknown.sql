-- Machines of unknown size with charges that are split across their holders. At stake: these charges.
-- A machine with CPUs in a machine file or on the bill has no GPUs, unless a job held some. CPUs and memory matter where
-- a rule weighs them beside GPUs and a job held some.
SELECT 'machine ' || m.machine_id AS evidence, sum(k.effective) AS at_stake, k.currency
FROM routed_kinds k
JOIN rules_in_force r ON r.rule = k.rule
JOIN machines m ON m.machine = k.machine
WHERE r.among IN ('machine', 'cluster') AND (
  (m.gpu_micros IS NULL
    AND (m.cpu_millis IS NULL OR m.machine IN (SELECT p.machine FROM placements p WHERE p.gpu_micros > 0)))
  OR (m.cpu_millis IS NULL AND r."by" LIKE '% x cpu%'
    AND m.machine IN (SELECT p.machine FROM placements p WHERE p.cpu_millis > 0))
  OR (m.memory_mbs IS NULL AND r."by" LIKE '% x memory_gb%'
    AND m.machine IN (SELECT p.machine FROM placements p WHERE p.memory_mbs > 0)))
GROUP BY m.machine_id, k.currency
