-- Attempts with measurements in the month that are in no job log.
SELECT 'job ' || job_id || ' attempt ' || attempt || ', ' || "rows" || ' measurements' AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM unmatched_measurements
