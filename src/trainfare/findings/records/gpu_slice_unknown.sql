-- Attempts that held slices of GPUs of unknown size. At stake: their cost.
WITH sliced AS (
  SELECT attempt_key, job_id, attempt, json_value(labels, 'unknown_gpu_slice') AS slice
  FROM attempts WHERE labels LIKE '%"unknown_gpu_slice"%'
)
SELECT 'job ' || u.job_id || ' attempt ' || u.attempt || ': ' || u.slice AS evidence,
  sum(s.effective) AS at_stake, w.currency
FROM sliced u
JOIN stored_shares s ON s.payer_key = u.attempt_key
JOIN share_kinds w ON w.share_kind = s.share_kind
WHERE u.slice IS NOT NULL
GROUP BY u.job_id, u.attempt, u.slice, w.currency
