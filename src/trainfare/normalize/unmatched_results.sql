-- Count the results of jobs that are neither among the month's attempts nor in a job log of another time.
-- In: quality_rows, attempts, job_names, other_jobs. Out: one row per job id.
SELECT q.job_id, count(*) AS rows
FROM quality_rows q
LEFT JOIN job_names n ON n.name = q.job_id
LEFT JOIN (SELECT DISTINCT job_id FROM attempts) a ON a.job_id = coalesce(n.job_id, q.job_id)
LEFT JOIN (SELECT DISTINCT job_id FROM other_jobs) o ON o.job_id = q.job_id
WHERE a.job_id IS NULL AND o.job_id IS NULL
GROUP BY q.job_id
