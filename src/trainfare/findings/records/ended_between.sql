-- Attempts that a collector missed, with the two times between which they ended. At stake: their cost.
WITH missed AS (
  SELECT attempt_key, job_id, attempt, json_value(labels, 'ended_between') AS times
  FROM attempts WHERE labels LIKE '%"ended_between"%'
)
SELECT 'job ' || m.job_id || ' attempt ' || m.attempt || ': ended between ' || m.times AS evidence,
  sum(s.effective) AS at_stake, w.currency
FROM missed m
JOIN stored_shares s ON s.payer_key = m.attempt_key
JOIN share_kinds w ON w.share_kind = s.share_kind
WHERE m.times IS NOT NULL
GROUP BY m.job_id, m.attempt, m.times, w.currency
