-- Rows of one attempt on one machine that begin before another one ended.
SELECT 'job ' || a.job_id || ' attempt ' || a.attempt || ' on ' || p.machine_id || ' from ' || make_timestamp(p.starts * 1000000) AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM (
  SELECT *, max(ends) OVER (PARTITION BY attempt_key, machine_id ORDER BY starts, ends, gpu_micros ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM placements
) p JOIN attempts a ON a.attempt_key = p.attempt_key
WHERE p.before > p.starts
