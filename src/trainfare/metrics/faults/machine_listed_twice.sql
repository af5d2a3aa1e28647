-- Resources that the machine files describe in more than one way.
SELECT 'resource ' || min(resource_id) AS evidence, CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM machine_rows GROUP BY lower(resource_id)
HAVING count(DISTINCT gpus) > 1 OR count(DISTINCT cpus) > 1 OR count(DISTINCT team) > 1 OR count(DISTINCT pool) > 1 OR count(DISTINCT cluster) > 1
