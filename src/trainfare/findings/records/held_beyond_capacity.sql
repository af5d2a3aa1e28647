-- Times at which more of a machine was held than it has. At stake: the machine's cost in the month.
-- Amounts are stored to a millionth of a GPU, a thousandth of a CPU and a MB: each fraction may be rounded up by half
-- of that, and the machine's own amount down. An excess that rounding explains is none.
WITH small AS (
  SELECT b.machine, b.measure, b.starts, b.ends,
    count(CASE b.measure
      WHEN 'gpu' THEN nullif(p.gpu_micros % 1000000, 0)
      WHEN 'cpu' THEN nullif(p.cpu_millis % 1000, 0)
      ELSE nullif(p.memory_mbs % 1000, 0) END) AS rounded
  FROM beyond_capacity b
  JOIN placements p ON p.machine = b.machine AND p.starts < b.ends AND p.ends > b.starts
  WHERE b.measure IN ('gpu', 'cpu', 'memory') AND b.held - b.capacity < 1000000
  GROUP BY b.machine, b.measure, b.starts, b.ends
),
actual AS (
  SELECT b.*
  FROM beyond_capacity b
  LEFT JOIN small s ON s.machine = b.machine AND s.measure = b.measure AND s.starts = b.starts AND s.ends = b.ends
  WHERE b.measure <> 'wall' AND 2 * (b.held - b.capacity) > coalesce(s.rounded, 0)
      + CASE WHEN b.capacity % CASE b.measure WHEN 'gpu' THEN 1000000 ELSE 1000 END <> 0 THEN 1 ELSE 0 END
),
excess AS (
  SELECT b.machine, b.measure, min(b.starts) AS starts,
    max(CAST(b.held AS DECIMAL(38,0))) * CASE b.measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END AS held,
    CAST(max(b.capacity) AS DECIMAL(38,0)) * CASE b.measure WHEN 'gpu' THEN 0.000001 ELSE 0.001 END AS capacity
  FROM actual b GROUP BY b.machine, b.measure
)
SELECT 'machine ' || m.machine_id || ' from ' || make_timestamp(t.starts * 1000000) || ' held '
    || CASE WHEN t.measure = 'weighted' THEN 'more than 100 % of its weighted resources' ELSE rtrim(rtrim(CAST(t.held AS VARCHAR), '0'), '.') || ' of ' || rtrim(rtrim(CAST(t.capacity AS VARCHAR), '0'), '.')
    || CASE t.measure WHEN 'memory' THEN ' GB of memory' ELSE ' ' || t.measure || 's' END END AS evidence,
  c.cost AS at_stake, c.currency
FROM excess t
JOIN machines m ON m.machine = t.machine
LEFT JOIN (
  SELECT machine, currency, sum(effective) AS cost FROM routed_kinds GROUP BY machine, currency
) c ON c.machine = m.machine
