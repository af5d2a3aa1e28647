-- In: charges, one row per line of a bill or ledger. Out: one row per kind of charge, that is, per distinct set of the columns
-- that rules may look at. A bill of ten million lines has some ten thousand kinds, so everything that
-- is decided about a charge is decided here, once per kind. What does not come from a
-- bill says its category itself. The sums are the control totals of the audit; most is the most that any of them can come to on the way.
SELECT *,
  billing_month(billing_start, billing_end) AS month,
  CASE
    WHEN origin <> 'bill' THEN service_category
    WHEN charge_category = 'Tax' THEN 'tax'
    WHEN charge_category = 'Credit' THEN 'credit'
    WHEN lower(service_name) LIKE '%support%' THEN 'support'
    WHEN lower(service_name) LIKE '%licen_e%' THEN 'licence'
    WHEN charge_category = 'Adjustment' THEN 'other'
    WHEN service_category = 'Compute' THEN 'compute'
    WHEN service_category = 'Storage' THEN 'storage'
    WHEN service_category = 'Networking' THEN 'network'
    WHEN service_category = 'AI and Machine Learning' THEN 'platform'
    ELSE 'other'
  END AS category,
  lower(CASE WHEN json_valid(price_details) THEN json_extract_string(price_details, '$.InstanceType') END) AS instance_type,
  CAST(nullif(regexp_extract(CASE WHEN json_valid(price_details) THEN json_extract_string(price_details, '$.GpuCount') END, '^[0-9]{1,4}([.][0-9]{1,6})?$', 0), '') AS DECIMAL(18,6)) AS gpu_count
FROM (
  SELECT {{dimensions}},
    count(*) AS lines,
    min(delivery) AS first_delivery,
    max(delivery) AS last_delivery,
    min(period_start) AS first_start,
    max(period_end) AS last_end,
    min(epoch_second(period_end) - epoch_second(period_start)) AS shortest,
    max(epoch_second(period_end) - epoch_second(period_start)) AS longest,
    sum(effective) AS effective,
    sum(billed) AS billed,
    coalesce(sum(list), 0) AS list,
    coalesce(sum(contracted), 0) AS contracted,
    sum(greatest(abs(effective), abs(billed), abs(list), abs(contracted))) AS most,
    count(*) - count(list) AS without_list,
    count(*) - count(contracted) AS without_contracted,
    sum(finer) AS finer
  FROM {{charges}}
  GROUP BY {{dimensions}}
)
