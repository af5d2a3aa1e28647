-- Select the lines of one bill in the columns of FOCUS 1.2.
-- In: bill lines as delivered.
SELECT '999888777666' AS BillingAccountId, 'USD' AS BillingCurrency, {{start_text}} AS BillingPeriodStart,
  {{end_text}} AS BillingPeriodEnd, 'AWS' AS ProviderName, account AS SubAccountId, region AS RegionId,
  utc_text(starts) AS ChargePeriodStart, utc_text(ends) AS ChargePeriodEnd,
  charge_category AS ChargeCategory, charge_class AS ChargeClass, description AS ChargeDescription,
  service_category AS ServiceCategory, service AS ServiceName,
  resource_id AS ResourceId, resource_name AS ResourceName, sku AS SkuId, details AS SkuPriceDetails,
  pricing AS PricingCategory, commitment_id AS CommitmentDiscountId, commitment_status AS CommitmentDiscountStatus,
  as_money(effective) AS EffectiveCost, as_money(billed) AS BilledCost, as_money(list) AS ListCost,
  as_money(list) AS ContractedCost, tags AS Tags
FROM {{lines}} WHERE bill = '{{bill}}'
ORDER BY starts, kind, resource_id, sku
