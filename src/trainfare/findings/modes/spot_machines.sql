-- List the machines that the month's bill prices as spot (PricingCategory Dynamic), and from when to when.
-- In: charges, machines. Out: one row per machine.
SELECT m.machine, min(epoch_second(c.period_start)) AS first_second, max(epoch_second(c.period_end)) AS last_second
FROM charges c JOIN machines m ON m.resource = lower(c.resource_id)
WHERE lower(c.pricing_category) = 'dynamic' AND c.charge_category = 'Usage'
  AND billing_month(c.billing_start, c.billing_end) = {{month}}
GROUP BY m.machine
