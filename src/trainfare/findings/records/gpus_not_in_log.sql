-- Machines with GPUs that were held in the month, if no job held a GPU on any of them. At stake: their idle cost.
SELECT 'machine ' || m.machine_id AS evidence, c.cost AS at_stake, c.currency
FROM (SELECT machine FROM stored_placements WHERE machine IS NOT NULL GROUP BY machine) h
JOIN machines m ON m.machine = h.machine
LEFT JOIN (
  SELECT resource_id, currency, sum(effective) AS cost
  FROM cost_summary WHERE payer_kind = 'idle' GROUP BY resource_id, currency
) c ON c.resource_id = m.resource_id
WHERE m.gpu_micros > 0 AND NOT EXISTS (
  SELECT 1 FROM stored_placements k JOIN machines g ON g.machine = k.machine
  WHERE g.gpu_micros > 0 AND k.gpu_micros > 0
)
