-- Machines that were held or seen after the bill for them ends, a day or more before the job log, and the services that
-- are billed daily in accounts whose whole bill ends that early. At stake: that time at the rates of the month.
WITH late_accounts AS (
  SELECT account, max(account_to) AS billed_to
  FROM late_machines WHERE seen_seconds > 0 AND account_to <= {{log_end}} - 86400 GROUP BY account
),
services AS (
  SELECT k.account, k.service_name, k.currency, sum(k.effective) AS effective,
    l.billed_to - min(epoch_second(k.first_start)) AS billed_seconds, {{log_end}} - l.billed_to AS unbilled_seconds
  FROM routed_kinds k JOIN late_accounts l ON l.account IS NOT DISTINCT FROM k.account
  WHERE k.machine IS NULL AND k.charge_category = 'Usage' AND k.longest <= 86400 AND k.origin <> 'estimate'
    AND k.source NOT LIKE '% adjusting %'
  GROUP BY k.account, k.service_name, k.currency, l.billed_to
  -- A service that stopped before the bill ended is not late.
  HAVING sum(k.lines) >= 5 AND max(epoch_second(k.last_end)) > l.billed_to - 86400
)
SELECT coalesce('account ' || account || ', ', '') || 'machine ' || machine_id || ': billed through '
    || make_timestamp(billed_to * 1000000) AS evidence,
  seen_cost AS at_stake, currency
FROM late_machines WHERE seen_seconds > 0
UNION ALL
SELECT coalesce('account ' || account || ', ', '') || coalesce(service_name, 'other services'),
  as_money(integer_part(in_units(effective), unbilled_seconds, billed_seconds)), currency
FROM services WHERE billed_seconds > 0
