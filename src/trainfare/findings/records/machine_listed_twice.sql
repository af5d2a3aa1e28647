-- Resources that machine files describe differently, and names that stand for two resources at the same time.
SELECT 'resource ' || min(resource_id) AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM machine_rows GROUP BY lower(resource_id)
HAVING count(DISTINCT gpus) > 1 OR count(DISTINCT cpus) > 1 OR count(DISTINCT team) > 1 OR count(DISTINCT pool) > 1
  OR count(DISTINCT cluster) > 1
UNION ALL
SELECT 'machine ' || min(a.machine_id) || ' is ' || min(a.resource_id) || ' and ' || min(b.resource_id),
  CAST(NULL AS DECIMAL(38,12)), CAST(NULL AS VARCHAR)
FROM machine_rows a
JOIN machine_rows b ON lower(b.machine_id) = lower(a.machine_id) AND lower(b.resource_id) > lower(a.resource_id)
WHERE coalesce(a.existed_from < b.existed_to, true) AND coalesce(b.existed_from < a.existed_to, true)
GROUP BY lower(a.machine_id), lower(a.resource_id), lower(b.resource_id)
