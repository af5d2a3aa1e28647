-- Number the machines: the resources that a job log or a machine file names, or that the bill shows to have GPUs.
-- In: machine_names, listed_machines, placement_rows, resources. Out: one row per machine, with integer amounts:
-- millionths of a GPU, thousandths of a CPU, MB. Unknown values are null.
WITH listed AS (
  SELECT resource, min(resource_id) AS resource_id, min(machine_id) AS machine_id,
    max(gpus) AS gpus, min(gpu_model) AS gpu_model, max(cpus) AS cpus, max(memory_gb) AS memory_gb,
    min(pool) AS pool, min(team) AS team, min(cluster) AS cluster, min(region) AS region, min(account) AS account,
    min(coalesce(epoch_second(existed_from), -9000000000)) AS existed_from,
    max(coalesce(epoch_second(existed_to), 253402300800)) AS existed_to
  FROM listed_machines GROUP BY resource
),
named AS (
  SELECT n.resource, min(p.machine_id) AS machine_id
  FROM machine_names n JOIN placement_rows p ON lower(p.machine_id) = n.name
  GROUP BY n.resource
),
all_resources AS (
  SELECT resource FROM listed
  UNION SELECT resource FROM named
  UNION SELECT resource FROM resources WHERE gpus > 0
)
SELECT CAST(row_number() OVER (ORDER BY e.resource) AS INTEGER) AS machine,
  e.resource,
  coalesce(l.machine_id, n.machine_id, r.resource_id) AS machine_id,
  coalesce(l.resource_id, r.resource_id) AS resource_id,
  CAST(coalesce(l.gpus, r.gpus) * 1000000 AS BIGINT) AS gpu_micros,
  CAST(coalesce(l.cpus, r.cpus) * 1000 AS BIGINT) AS cpu_millis,
  CAST(coalesce(l.memory_gb, r.memory_gb) * 1000 AS BIGINT) AS memory_mbs,
  coalesce(l.gpu_model, r.gpu_model) AS gpu_model,
  l.pool, l.team, l.cluster,
  coalesce(l.region, r.region) AS region,
  coalesce(l.account, r.account) AS account,
  coalesce(l.existed_from, -9000000000) AS existed_from,
  coalesce(l.existed_to, 253402300800) AS existed_to,
  r.resource IS NOT NULL AS on_bill,
  l.resource IS NOT NULL AS listed
FROM all_resources e
LEFT JOIN listed l ON l.resource = e.resource
LEFT JOIN named n ON n.resource = e.resource
LEFT JOIN resources r ON r.resource = e.resource
