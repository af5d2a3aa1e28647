-- In: charges. Out: what each commitment covered on each day, per thing it covered: effective cost and list cost, in millionths.
SELECT commitment_id, sku_id, currency, CAST(period_start AS DATE) AS day,
  CAST(in_units(sum(effective)) // 1000000 AS BIGINT) AS effective, CAST(in_units(sum(list)) // 1000000 AS BIGINT) AS list
FROM charges
WHERE commitment_id IS NOT NULL AND commitment_status = 'Used' AND charge_category = 'Usage' AND list > 0
  AND billing_month(billing_start, billing_end) = {{month}}
GROUP BY commitment_id, sku_id, currency, CAST(period_start AS DATE)
