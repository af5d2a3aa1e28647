-- Total the cost of each storage service per day, in millionths, without the machines' own disks.
-- In: keyed_charges, routed_kinds.
SELECT k.account, k.service_name AS service, k.currency, CAST(c.period_start AS DATE) AS day,
  CAST(in_units(sum(c.effective)) // 1000000 AS BIGINT) AS effective
FROM keyed_charges c JOIN routed_kinds k ON k.kind = c.kind
WHERE k.category = 'storage' AND k.machine IS NULL AND k.charge_category = 'Usage' AND k.longest <= 86400
GROUP BY k.account, k.service_name, k.currency, CAST(c.period_start AS DATE)
