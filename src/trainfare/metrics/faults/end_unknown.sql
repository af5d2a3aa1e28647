-- Attempts with a row without an end, in a state that only who ended has. At stake: what they cost.
WITH unended AS (
  SELECT a.attempt_key, a.job_id, a.attempt, a.state FROM attempts a
  WHERE a.state IN ({{over}}) AND a.attempt_key IN (SELECT attempt_key FROM holdings WHERE running)
),
cost AS (
  SELECT s.payer_key, w.currency, sum(s.effective) AS effective
  FROM kept_shares s JOIN ways w ON w.way = s.way
  WHERE s.payer_key IN (SELECT attempt_key FROM unended)
  GROUP BY s.payer_key, w.currency
)
SELECT 'job ' || u.job_id || ' attempt ' || u.attempt || ': ' || u.state || ', without an end' AS evidence, c.effective AS at_stake, c.currency
FROM unended u LEFT JOIN cost c ON c.payer_key = u.attempt_key
