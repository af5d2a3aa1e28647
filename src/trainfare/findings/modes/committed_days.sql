-- Total what each commitment covered per day and SKU: effective cost and list cost, in millionths.
-- In: charges. Without a SKU, each resource counts by itself: a different mix of machines is not a different price.
SELECT commitment_id, coalesce(sku_id, 'resource ' || lower(resource_id), '') AS item, currency,
  CAST(period_start AS DATE) AS day,
  CAST(in_units(sum(effective)) // 1000000 AS BIGINT) AS effective,
  CAST(in_units(sum(list)) // 1000000 AS BIGINT) AS list
FROM charges
WHERE commitment_id IS NOT NULL AND commitment_status = 'Used' AND charge_category = 'Usage' AND list IS NOT NULL
  AND source NOT LIKE '% adjusting %' AND billing_month(billing_start, billing_end) = {{month}}
GROUP BY commitment_id, coalesce(sku_id, 'resource ' || lower(resource_id), ''), currency, CAST(period_start AS DATE)
HAVING in_units(sum(list)) >= 1000000
