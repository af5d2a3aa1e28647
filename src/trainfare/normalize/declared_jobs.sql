-- Give every job that reports about itself the id that the logs use for it, else one of its own.
-- In: logged_rows; declared_rows, log_name being the name of their source. Out: the rows of declared_rows, with
-- native_id. A job is the one that its id names; else the only one that a log calls by its name, unless both name
-- different clusters.
WITH called AS (
  SELECT native_id, min(job_id) AS job_id, min(log_cluster) AS log_cluster
  FROM (SELECT DISTINCT native_id, job_id, log_cluster FROM logged_rows)
  GROUP BY native_id HAVING min(job_id) = max(job_id)
)
SELECT coalesce(s.job_id, f.job_id, c.job_id, {{job_id}}) AS job_id, d.job_id AS native_id,
  d.* EXCLUDE (job_id, log_name)
FROM declared_rows d
LEFT JOIN (SELECT DISTINCT job_id FROM logged_rows) f ON f.job_id = d.job_id
LEFT JOIN (SELECT DISTINCT job_id FROM logged_rows) s ON s.job_id = {{job_id}}
LEFT JOIN called c ON c.native_id = d.job_id AND coalesce(c.log_cluster = d.log_cluster, true)
