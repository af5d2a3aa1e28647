-- Select the rows of the machine file.
-- In: machines, pools.
SELECT m.name AS machine_id, m.resource_id, m.gpus, p.model AS gpu_model, p.cpus, p.memory_gb, m.pool, p.cluster,
  p.region, p.account, utc_text(m.since) AS existed_from,
  CASE WHEN m.until < 4000000000 THEN utc_text(m.until) END AS existed_to
FROM machines m JOIN pools p ON p.pool = m.pool ORDER BY m.name
