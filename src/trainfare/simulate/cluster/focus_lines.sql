-- In: lines as they are delivered. Out: the lines of one bill in FOCUS 1.2 columns.
SELECT '999888777666' AS BillingAccountId, 'USD' AS BillingCurrency, {{start_text}} AS BillingPeriodStart, {{end_text}} AS BillingPeriodEnd,
  'AWS' AS ProviderName, account AS SubAccountId, region AS RegionId,
  text_of(starts) AS ChargePeriodStart, text_of(ends) AS ChargePeriodEnd,
  charge_category AS ChargeCategory, charge_class AS ChargeClass, description AS ChargeDescription, service_category AS ServiceCategory, service AS ServiceName,
  resource_id AS ResourceId, resource_name AS ResourceName, sku AS SkuId, details AS SkuPriceDetails, pricing AS PricingCategory,
  commitment_id AS CommitmentDiscountId, commitment_status AS CommitmentDiscountStatus,
  in_money(effective) AS EffectiveCost, in_money(billed) AS BilledCost, in_money(list) AS ListCost, in_money(list) AS ContractedCost, tags AS Tags
FROM {{from}} WHERE bill = '{{bill}}'
ORDER BY starts, kind, resource_id, sku
