-- Identical rows of the job log.
SELECT 'job ' || job_id || ' attempt ' || attempt || ' on ' || machine_id || ' from ' || started || ', ' || count(*)
    || ' times' AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM placement_rows
-- Identical rows are one holding: if there are as many holdings as rows, nothing needs to be compared.
WHERE (SELECT count(*) FROM placement_rows) > (SELECT count(*) FROM holdings)
GROUP BY job_id, attempt, machine_id, started, ended, gpus, cpus, memory_gb
HAVING count(*) > 1
