-- Number the attempts that only adjustments of closed months name, after all others.
-- In: restated_shares, restated_attempts, attempts. Out: rows like those of attempts.
SELECT CAST(n.last + row_number() OVER (ORDER BY r.job_id, r.attempt) AS INTEGER) AS attempt_key, r.job_id, r.attempt,
  r.state, r.owner, r.team, r.project, r.experiment, r.cost_center, r.model_version, r.priority, r.labels,
  r.queued_from, r.queued_to
FROM restated_attempts r
JOIN (SELECT DISTINCT job_id, attempt FROM restated_shares) s ON s.job_id = r.job_id AND s.attempt = r.attempt
LEFT JOIN attempts a ON a.job_id = r.job_id AND a.attempt = r.attempt
CROSS JOIN (SELECT coalesce(max(attempt_key), 0) AS last FROM attempts) n
WHERE a.attempt_key IS NULL
