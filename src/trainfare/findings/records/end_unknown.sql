-- Attempts that are over without an end in the job log, and when they count as ended. At stake: their cost.
WITH unended AS (
  SELECT a.attempt_key, a.job_id, a.attempt, a.state, e.ended, min(e.reason) AS reason
  FROM inferred_ends e JOIN attempts a ON a.job_id = e.job_id AND a.attempt = e.attempt
  WHERE e.is_in_month
  GROUP BY a.attempt_key, a.job_id, a.attempt, a.state, e.ended
),
cost AS (
  SELECT s.payer_key, w.currency, sum(s.effective) AS effective
  FROM stored_shares s JOIN share_kinds w ON w.share_kind = s.share_kind
  WHERE s.payer_key IN (SELECT attempt_key FROM unended)
  GROUP BY s.payer_key, w.currency
)
SELECT 'job ' || u.job_id || ' attempt ' || u.attempt || ': ' || u.state || ', ended ' || u.reason || ', '
    || CAST(u.ended AS VARCHAR) AS evidence,
  c.effective AS at_stake, c.currency
FROM unended u LEFT JOIN cost c ON c.payer_key = u.attempt_key
