-- Stretches of time in which more was held of a machine than it has. At stake: the machine's cost on those days.
WITH told AS (
  SELECT b.machine, b.measure, min(b.starts) AS starts, max(CAST(b.held AS DECIMAL(38,0))) * CASE b.measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END AS held,
    CAST(max(b.capacity) AS DECIMAL(38,0)) * CASE b.measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END AS capacity
  FROM beyond_capacity b WHERE b.measure <> 'wall' GROUP BY b.machine, b.measure
)
SELECT 'machine ' || m.machine_id || ' from ' || make_timestamp(t.starts * 1000000) || ' held ' || rtrim(rtrim(CAST(t.held AS VARCHAR), '0'), '.')
    || ' of ' || rtrim(rtrim(CAST(t.capacity AS VARCHAR), '0'), '.') || ' ' || t.measure || 's' AS evidence,
  c.cost AS at_stake, c.currency
FROM told t
JOIN machines m ON m.machine = t.machine
LEFT JOIN (SELECT resource_id, currency, sum(effective) AS cost FROM spent GROUP BY resource_id, currency) c ON c.resource_id = m.resource_id
