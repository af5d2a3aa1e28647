-- Attempts that were measured in the month and that no job log has.
SELECT 'job ' || job_id || ' attempt ' || attempt || ', ' || "rows" || ' measurements' AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM measured_unknown
