-- Stretches of time in which more was held of a machine than it has. At stake: the machine's cost on those days.
SELECT 'machine ' || m.machine_id || ' from ' || make_timestamp(min(b.starts) * 1000000) || ' held ' || max(CAST(b.held AS DECIMAL(38,0))) * CASE measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END
    || ' of ' || CAST(max(b.capacity) AS DECIMAL(38,0)) * CASE measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END || ' ' || measure || 's' AS evidence,
  c.cost AS at_stake, c.currency
FROM beyond_capacity b
JOIN machines m ON m.machine = b.machine
LEFT JOIN (SELECT resource_id, currency, sum(effective) AS cost FROM spent GROUP BY resource_id, currency) c ON c.resource_id = m.resource_id
WHERE b.measure <> 'wall'
GROUP BY m.machine_id, b.measure, c.cost, c.currency
