-- Network cost of attempts that were measured to send bytes from one region to another, as much of it as these are of all their bytes. At stake: that cost.
WITH sent AS (
  SELECT attempt_key, from_region, to_region, CAST(sum(value) AS BIGINT) AS bytes
  FROM measured WHERE measure = 'bytes_sent' AND value > 0 GROUP BY attempt_key, from_region, to_region
),
together AS (
  SELECT attempt_key, CAST(sum(bytes) AS BIGINT) AS bytes FROM sent GROUP BY attempt_key
),
network AS (
  SELECT job_id, attempt, currency, sum(effective) AS effective
  FROM shares WHERE category = 'network' AND job_id IS NOT NULL GROUP BY job_id, attempt, currency
)
SELECT 'from ' || s.from_region || ' to ' || s.to_region || ': ' || count(DISTINCT n.job_id) || ' jobs' AS evidence,
  sum(as_money(whole_part(in_units(n.effective), s.bytes, t.bytes))) AS at_stake, n.currency
FROM network n
JOIN attempts a ON a.job_id = n.job_id AND a.attempt = n.attempt
JOIN sent s ON s.attempt_key = a.attempt_key AND s.from_region <> s.to_region
JOIN together t ON t.attempt_key = a.attempt_key
GROUP BY s.from_region, s.to_region, n.currency
