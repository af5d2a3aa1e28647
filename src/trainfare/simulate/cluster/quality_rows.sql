-- Select a result for about a third of the jobs.
-- In: jobs.
SELECT job_id, 'accuracy' AS metric, CAST(60 + hash(job_id) % 3000 / 100 AS DECIMAL(9,2)) AS value, 'higher' AS better
FROM jobs WHERE hash(job_id) % 3 = 0 ORDER BY job_id
