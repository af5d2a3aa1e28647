-- Machines with charges that are shared among holders, of which neither a machine file nor the bill tells the GPUs. One that has CPUs has none, unless a job
-- held some. At stake: these charges.
SELECT 'machine ' || m.machine_id AS evidence, sum(k.effective) AS at_stake, k.currency
FROM routed_kinds k
JOIN rules_in_force r ON r.rule = k.rule
JOIN machines m ON m.machine = k.machine
WHERE r.among IN ('machine', 'cluster') AND m.gpu_micros IS NULL
  AND (m.cpu_millis IS NULL OR m.machine IN (SELECT p.machine FROM placements p WHERE p.gpu_micros > 0))
GROUP BY m.machine_id, k.currency
