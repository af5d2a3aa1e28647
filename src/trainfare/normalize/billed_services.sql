-- Find how far the bill covers each service of each machine, account by account.
-- In: charge_kinds. Out: per resource, account, service and category, the second through which it is billed, and the
-- second at which its last charge ends. Charges for more than a day say nothing about the progress of metering, unless
-- there are no others. Once an account's bill for a service reaches the end of the month, it covers the whole month for
-- every machine: what has no charge by then was not charged.
WITH billed AS (
  SELECT lower(resource_id) AS resource, billing_account, account, service_name, category,
    max(metered_end) AS metered_end, max(epoch_second(last_end)) AS last_end
  FROM charge_kinds
  WHERE origin = 'bill' AND charge_category = 'Usage' AND resource_id IS NOT NULL AND month <= {{month}}
  GROUP BY lower(resource_id), billing_account, account, service_name, category
),
complete AS (
  SELECT billing_account, account, service_name
  FROM charge_kinds
  WHERE origin = 'bill' AND charge_category = 'Usage' AND month = {{month}}
  GROUP BY billing_account, account, service_name
  HAVING max(metered_end) >= {{month_end}}
)
SELECT b.resource, b.billing_account, b.account, b.service_name, b.category,
  CASE WHEN c.is_complete THEN CAST({{month_end}} AS BIGINT)
    ELSE least(greatest(coalesce(b.metered_end, b.last_end), {{month_start}}), {{month_end}}) END AS through,
  b.metered_end, b.last_end
FROM billed b
LEFT JOIN (SELECT *, true AS is_complete FROM complete) c
  ON c.billing_account IS NOT DISTINCT FROM b.billing_account AND c.account IS NOT DISTINCT FROM b.account
  AND c.service_name IS NOT DISTINCT FROM b.service_name
