-- In: usage_rows, attempts. Out: jobs and attempts that were measured in the month and that no job log has.
SELECT u.job_id, u.attempt, count(*) AS rows
FROM usage_rows u
WHERE u.started < {{month}} + INTERVAL 1 MONTH AND u.ended >= {{month}}
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.job_id = u.job_id AND a.attempt = u.attempt)
GROUP BY u.job_id, u.attempt
