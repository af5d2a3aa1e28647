-- Results of jobs that no job log has under this id.
SELECT 'job ' || job_id || ', ' || "rows" || CASE WHEN "rows" = 1 THEN ' result' ELSE ' results' END AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM unmatched_results
