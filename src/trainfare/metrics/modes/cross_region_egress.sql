-- Network cost of attempts that were measured to send bytes from one region to another, as much of it as these are of all their bytes. At stake: that cost.
WITH sent AS (
  SELECT attempt_key, from_region, to_region, CAST(sum(value) AS BIGINT) AS bytes
  FROM measured WHERE measure = 'bytes_sent' AND value > 0 GROUP BY attempt_key, from_region, to_region
),
together AS (
  SELECT attempt_key, CAST(sum(bytes) AS BIGINT) AS bytes FROM sent GROUP BY attempt_key
),
network AS (
  SELECT attempt_key, currency, CAST(sum(effective) AS HUGEINT) AS effective FROM paid_days WHERE category = 'network' GROUP BY attempt_key, currency
)
SELECT 'from ' || s.from_region || ' to ' || s.to_region || ': ' || count(DISTINCT a.job_id) || ' jobs' AS evidence,
  sum(as_money(whole_part(n.effective, s.bytes, t.bytes))) AS at_stake, n.currency
FROM network n
JOIN attempts a ON a.attempt_key = n.attempt_key
JOIN sent s ON s.attempt_key = a.attempt_key AND s.from_region <> s.to_region
JOIN together t ON t.attempt_key = a.attempt_key
GROUP BY s.from_region, s.to_region, n.currency
