-- Machines with GPUs of several models that jobs held in the month. At stake: the cost of the machine.
WITH models AS (
  SELECT attempt_key, json_value(labels, 'gpu_model') AS gpu_model
  FROM attempts WHERE labels LIKE '%"gpu_model"%'
),
held AS (
  SELECT DISTINCT p.machine, o.gpu_model
  FROM models o JOIN placements p ON p.attempt_key = o.attempt_key
  WHERE o.gpu_model IS NOT NULL AND p.machine IS NOT NULL
),
mixed AS (
  SELECT machine, string_agg(gpu_model, ', ' ORDER BY gpu_model) AS gpu_models
  FROM held GROUP BY machine
  HAVING count(*) > 1 OR max(CASE WHEN gpu_model LIKE '% and %' THEN 1 ELSE 0 END) = 1
)
SELECT 'machine ' || m.machine_id || ': ' || x.gpu_models AS evidence, sum(k.effective) AS at_stake, k.currency
FROM mixed x
JOIN machines m ON m.machine = x.machine
JOIN routed_kinds k ON k.machine = x.machine
GROUP BY m.machine_id, x.gpu_models, k.currency
