-- In: held_hours, prices, lines, shared_parts. Out: what each job truly costs: what it held at the price of the moment, and what was bought for it.
SELECT job_id, CAST(sum(cost) AS HUGEINT) AS units
FROM (
  SELECT h.job_id, sum(h.gpu_seconds * (r.price + {{disk_price}})) AS cost
  FROM held_hours h JOIN prices r ON r.pool = h.pool AND r.hour = h.hour GROUP BY h.job_id
  UNION ALL SELECT job_id, sum(effective) FROM lines WHERE job_id IS NOT NULL GROUP BY job_id
  UNION ALL SELECT job_id, sum(units) FROM shared_parts GROUP BY job_id
)
GROUP BY job_id ORDER BY job_id
