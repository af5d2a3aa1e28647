-- Machines with charges that are split across their holders, which no job held in that time. At stake: these charges.
SELECT 'machine ' || m.machine_id AS evidence, c.at_stake, c.currency
FROM (
  SELECT k.machine, k.currency, sum(k.effective) AS at_stake,
    min(epoch_second(k.first_start)) AS first_second, max(epoch_second(k.last_end)) AS last_second
  FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule
  WHERE k.machine IS NOT NULL AND r.among IN ('machine', 'cluster')
  GROUP BY k.machine, k.currency
) c
JOIN machines m ON m.machine = c.machine
WHERE NOT EXISTS (
  SELECT 1 FROM placements p WHERE p.machine = c.machine AND p.starts < c.last_second AND p.ends > c.first_second
)
