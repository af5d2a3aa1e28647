-- Give every job in the logs its id: its cluster, or the named source of the log, and the id in the log.
-- In: delivered_rows; log is the number of the log, log_name the name of its source. Out: the same rows; native_id is the
-- id in the log.
SELECT {{job_id}} AS job_id, r.job_id AS native_id, r.* EXCLUDE (job_id, log_name)
FROM delivered_rows r
