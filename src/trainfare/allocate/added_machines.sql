-- Number the machines that only adjustments of closed months name, after all others.
-- In: restated_shares, restated_machines, machines. Out: rows like those of machines.
SELECT CAST(n.last + row_number() OVER (ORDER BY r.resource) AS INTEGER) AS machine, r.resource, r.machine_id,
  r.resource_id, r.gpu_micros, r.cpu_millis, r.memory_mbs, r.gpu_model, r.pool, r.team, r.cluster, r.region, r.account,
  r.existed_from, r.existed_to, r.on_bill, r.listed
FROM restated_machines r
JOIN (SELECT DISTINCT lower(resource_id) AS resource FROM restated_shares) s ON s.resource = r.resource
LEFT JOIN machines m ON m.resource = r.resource
CROSS JOIN (SELECT coalesce(max(machine), 0) AS last FROM machines) n
WHERE m.machine IS NULL
