-- Rows of one attempt on one machine that start before another one ends.
-- Most attempts have one row per machine, and need no further comparison.
SELECT 'job ' || a.job_id || ' attempt ' || a.attempt || ' on ' || p.machine_id || ' from '
    || make_timestamp(p.starts * 1000000) AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM (
  SELECT h.*, max(h.ends) OVER (
      PARTITION BY h.attempt_key, h.machine_id ORDER BY h.starts, h.ends, h.gpu_micros
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM placements h
  JOIN (
    SELECT attempt_key, machine FROM placements GROUP BY attempt_key, machine HAVING count(*) > 1
  ) several ON several.attempt_key = h.attempt_key AND several.machine IS NOT DISTINCT FROM h.machine
) p
JOIN attempts a ON a.attempt_key = p.attempt_key
WHERE p.previous_end > p.starts
