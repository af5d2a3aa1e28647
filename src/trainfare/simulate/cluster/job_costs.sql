-- Compute the true cost of each job: what it held at the current price, its own bill lines and its shared costs.
-- In: held_hours, prices, true_lines, shared_cost_parts.
SELECT job_id, CAST(sum(cost) AS HUGEINT) AS units
FROM (
  SELECT h.job_id, sum(h.gpu_seconds * (r.price + {{disk_price}})) AS cost
  FROM held_hours h JOIN prices r ON r.pool = h.pool AND r.hour = h.hour GROUP BY h.job_id
  UNION ALL SELECT job_id, sum(effective) FROM true_lines WHERE job_id IS NOT NULL GROUP BY job_id
  UNION ALL SELECT job_id, sum(units) FROM shared_cost_parts GROUP BY job_id
)
GROUP BY job_id ORDER BY job_id
