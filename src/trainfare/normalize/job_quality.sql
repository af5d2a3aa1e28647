-- Find the best value of each quality metric of each job.
-- In: quality_rows, attempts, job_names.
SELECT a.job_id, q.metric, q.better, CASE q.better WHEN 'lower' THEN min(q.value) ELSE max(q.value) END AS value
FROM quality_rows q
LEFT JOIN job_names n ON n.name = q.job_id
JOIN (SELECT DISTINCT job_id FROM attempts) a ON a.job_id = coalesce(n.job_id, q.job_id)
GROUP BY a.job_id, q.metric, q.better
