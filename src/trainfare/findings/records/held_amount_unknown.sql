-- Placements without a number of GPUs.
SELECT 'job ' || job_id || ' on ' || machine_id AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM placement_rows WHERE gpus IS NULL
