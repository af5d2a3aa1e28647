-- Find how far the time of each machine is billed, and how far all of its services are.
-- In: machines, billed_services. Out: one row per machine. A machine that is on no bill counts as billed as far as its
-- account is; without a known account, as far as any account is.
WITH times AS (
  SELECT resource, max(through) AS through FROM billed_services
  WHERE category IN ('compute', 'platform') GROUP BY resource
),
accounts AS (
  SELECT account, max(through) AS through FROM billed_services
  WHERE category IN ('compute', 'platform') GROUP BY account
),
services AS (
  SELECT resource, min(through) AS through FROM billed_services GROUP BY resource
),
machine_times AS (
  SELECT m.machine, m.resource, coalesce(
      t.through,
      CASE WHEN m.account IS NULL THEN (SELECT max(through) FROM accounts) ELSE a.through END,
      {{month_start}}) AS time_through
  FROM machines m
  LEFT JOIN times t ON t.resource = m.resource
  LEFT JOIN accounts a ON a.account = m.account
)
SELECT t.machine, t.resource, t.time_through,
  least(t.time_through, coalesce(s.through, t.time_through)) AS services_through
FROM machine_times t LEFT JOIN services s ON s.resource = t.resource
