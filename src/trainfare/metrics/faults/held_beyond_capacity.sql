-- Stretches of time in which more was held of a machine than it has. At stake: what the machine costs in the month.
WITH told AS (
  SELECT b.machine, b.measure, min(b.starts) AS starts, max(CAST(b.held AS DECIMAL(38,0))) * CASE b.measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END AS held,
    CAST(max(b.capacity) AS DECIMAL(38,0)) * CASE b.measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END AS capacity
  FROM beyond_capacity b WHERE b.measure <> 'wall' GROUP BY b.machine, b.measure
)
SELECT 'machine ' || m.machine_id || ' from ' || make_timestamp(t.starts * 1000000) || ' held ' || rtrim(rtrim(CAST(t.held AS VARCHAR), '0'), '.')
    || ' of ' || rtrim(rtrim(CAST(t.capacity AS VARCHAR), '0'), '.') || CASE t.measure WHEN 'memory' THEN ' GB of memory' ELSE ' ' || t.measure || 's' END AS evidence,
  c.cost AS at_stake, c.currency
FROM told t
JOIN machines m ON m.machine = t.machine
LEFT JOIN (SELECT machine, currency, sum(effective) AS cost FROM routed_kinds GROUP BY machine, currency) c ON c.machine = m.machine
