-- Network cost of attempts that were measured to send bytes from one region to another, as much of it as these are of all their bytes. At stake: that cost.
WITH sent AS (
  SELECT attempt_key, kind, CAST(sum(value) AS BIGINT) AS bytes
  FROM measured WHERE kind IN (SELECT kind FROM usage_kinds WHERE measure = 'bytes_sent') AND value > 0 GROUP BY attempt_key, kind
),
together AS (
  SELECT attempt_key, CAST(sum(bytes) AS BIGINT) AS bytes FROM sent GROUP BY attempt_key
),
network AS (
  SELECT attempt_key, currency, in_units(CAST(sum(effective) AS DECIMAL(38,12))) AS effective FROM egress GROUP BY attempt_key, currency
),
crossing AS (
  SELECT s.kind, a.job, n.currency, as_money(whole_part(n.effective, s.bytes, t.bytes)) AS effective
  FROM network n
  JOIN tries a ON a.attempt_key = n.attempt_key
  JOIN sent s ON s.attempt_key = n.attempt_key AND s.kind IN (SELECT kind FROM usage_kinds WHERE from_region <> to_region)
  JOIN together t ON t.attempt_key = n.attempt_key
)
SELECT 'from ' || k.from_region || ' to ' || k.to_region || ': ' || c.jobs || ' jobs' AS evidence, c.at_stake, c.currency
FROM (SELECT kind, currency, count(DISTINCT job) AS jobs, sum(effective) AS at_stake FROM crossing GROUP BY kind, currency) c
JOIN usage_kinds k ON k.kind = c.kind
