-- Find the best value of each quality metric of each job.
-- In: quality_rows, attempts.
SELECT q.job_id, q.metric, q.better, CASE q.better WHEN 'lower' THEN min(q.value) ELSE max(q.value) END AS value
FROM quality_rows q
WHERE q.job_id IN (SELECT job_id FROM attempts)
GROUP BY q.job_id, q.metric, q.better
