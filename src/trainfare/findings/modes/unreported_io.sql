-- Days on which a storage service costs more than three times as much per measured request as on the month's cheaper
-- days, and one and a half times as much in total. At stake: what the requests do not explain.
-- Requests of a machine count in its account, those of an attempt as a whole in every account where it held machines.
WITH accounts AS (
  SELECT DISTINCT p.attempt_key, m.account FROM placements p JOIN machines m ON m.machine = p.machine
),
counted AS (
  SELECT m.account, u.day, u.value
  FROM attempt_usage u JOIN machines m ON m.machine = u.machine WHERE u.measure = 'storage_requests'
  UNION ALL
  SELECT a.account, u.day, u.value
  FROM attempt_usage u JOIN accounts a ON a.attempt_key = u.attempt_key
  WHERE u.measure = 'storage_requests' AND u.machine IS NULL
),
requests AS (
  SELECT account, DATE '1970-01-01' + day AS day, CAST(trunc(sum(value)) AS BIGINT) AS requests
  FROM counted GROUP BY account, day HAVING sum(value) >= 1
),
compared AS (
  SELECT s.*, a.requests, CAST(s.effective AS HUGEINT) * 1000000 // a.requests AS per_request
  FROM storage_days s JOIN requests a ON a.account = s.account AND a.day = s.day
),
usual AS (
  SELECT account, service, currency, quantile_disc(per_request, 0.25) AS per_request,
    quantile_disc(effective, 0.25) AS effective
  FROM compared GROUP BY account, service, currency HAVING count(*) >= 7
)
SELECT 'account ' || c.account || ', ' || coalesce(c.service, 'storage') || ' on ' || c.day || ': '
    || c.effective * 0.000001::DECIMAL(7,6) || ' for ' || c.requests || ' measured requests' AS evidence,
  CAST(CAST(c.effective - u.per_request * c.requests // 1000000 AS BIGINT) * 0.000001::DECIMAL(7,6)
    AS DECIMAL(38,12)) AS at_stake,
  c.currency
FROM compared c JOIN usual u ON u.account = c.account AND u.service IS NOT DISTINCT FROM c.service
  AND u.currency = c.currency
WHERE c.per_request > 3 * u.per_request AND 2 * c.effective > 3 * u.effective
