-- Days on which a storage service costs more than three times as much per measured request as on the month's cheaper days, and half as much again in itself. At stake: what
-- the requests do not explain.
WITH asked AS (
  SELECT m.account, CAST(make_timestamp(u.starts * 1000000) AS DATE) AS day, CAST(sum(u.value) AS BIGINT) AS requests
  FROM measured u
  JOIN (
    SELECT p.attempt_key, min(m.account) AS account FROM placements p JOIN machines m ON m.machine = p.machine GROUP BY p.attempt_key
  ) m ON m.attempt_key = u.attempt_key
  WHERE u.kind IN (SELECT kind FROM usage_kinds WHERE measure = 'storage_requests') GROUP BY ALL HAVING sum(u.value) > 0
),
compared AS (
  SELECT s.*, a.requests, CAST(s.effective AS HUGEINT) * 1000000 // a.requests AS each
  FROM stored_days s JOIN asked a ON a.account = s.account AND a.day = s.day
),
usual AS (
  SELECT account, service, currency, quantile_disc(each, 0.25) AS each, quantile_disc(effective, 0.25) AS effective FROM compared GROUP BY account, service, currency HAVING count(*) >= 7
)
SELECT 'account ' || c.account || ', ' || c.service || ' on ' || c.day || ': ' || c.effective * 0.000001::DECIMAL(7,6) || ' for ' || c.requests || ' measured requests' AS evidence,
  CAST(CAST(c.effective - u.each * c.requests // 1000000 AS BIGINT) * 0.000001::DECIMAL(7,6) AS DECIMAL(38,12)) AS at_stake, c.currency
FROM compared c JOIN usual u ON u.account = c.account AND u.service = c.service AND u.currency = c.currency
WHERE c.each > 3 * u.each AND 2 * c.effective > 3 * u.effective
