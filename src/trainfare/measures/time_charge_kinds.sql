-- Select the kinds of charges that are for machine time, with the target within which each is shared.
-- In: routed_kinds, targets. Out: kinds with their time. Storage keeps costing while its machine is stopped, and a tax
-- or an adjustment is not tied to hours; charges without a more specific category count if they are for a machine. While
-- the account's bill for a service is not complete, a charge for more than a day says nothing about the time after
-- `through`, the last metered second of that service on the same machine.
WITH metered AS (
  SELECT machine, billing_account, account, service_name, max(metered_end) AS through
  FROM routed_kinds WHERE machine IS NOT NULL AND origin = 'bill' AND charge_category = 'Usage'
  GROUP BY machine, billing_account, account, service_name
),
complete AS (
  SELECT billing_account, account, service_name FROM routed_kinds
  WHERE origin = 'bill' AND charge_category = 'Usage'
  GROUP BY billing_account, account, service_name HAVING max(metered_end) >= {{month_end}}
)
SELECT k.kind, t.target, epoch_second(k.first_start) AS first_second,
  least(epoch_second(k.last_end), coalesce(m.through, epoch_second(k.last_end))) AS last_second,
  coalesce(m.through, 253402300800) AS through, k.shortest, k.longest
FROM routed_kinds k
JOIN targets t ON t.weighing = k.weighing AND t.scope = k.scope
LEFT JOIN complete c ON c.billing_account IS NOT DISTINCT FROM k.billing_account
  AND c.account IS NOT DISTINCT FROM k.account AND c.service_name IS NOT DISTINCT FROM k.service_name
LEFT JOIN metered m ON k.longest > 86400 AND c.service_name IS NULL AND m.machine = k.machine
  AND m.billing_account IS NOT DISTINCT FROM k.billing_account AND m.account IS NOT DISTINCT FROM k.account
  AND m.service_name IS NOT DISTINCT FROM k.service_name
WHERE k.longest > 0
  AND (k.category IN ('compute', 'platform')
    OR (t.machine IS NOT NULL AND k.category IN ('power', 'facility', 'other') AND k.charge_category <> 'Adjustment'))
