-- Group charges into kinds: one row per distinct set of the columns that rules may look at.
-- In: charges, one row per line of a bill or ledger. Out: kinds with their totals. A bill of ten million lines has some
-- ten thousand kinds, so whatever is decided about a charge is decided here, once per kind. Charges that are not from a
-- bill state their category themselves. The sums are the control totals of the audit; most is the largest absolute
-- amount that any of them can reach on the way. Charge periods widen outward to whole seconds; metered_end is the end of
-- the last one of at most a day.
SELECT * EXCLUDE (last_end),
  make_timestamp(end_second(first_start, last_end) * 1000000) AS last_end,
  billing_month(billing_start, billing_end) AS month,
  CASE
    WHEN origin <> 'bill' THEN service_category
    WHEN charge_category = 'Tax' THEN 'tax'
    WHEN charge_category = 'Credit' THEN 'credit'
    WHEN lower(service_name) LIKE '%support%' THEN 'support'
    WHEN lower(service_name) LIKE '%licen_e%' THEN 'license'
    WHEN charge_category = 'Adjustment' THEN 'other'
    WHEN service_category = 'Compute' THEN 'compute'
    WHEN service_category = 'Storage' THEN 'storage'
    WHEN service_category = 'Networking' THEN 'network'
    WHEN service_category = 'AI and Machine Learning' THEN 'platform'
    ELSE 'other'
  END AS category,
  lower(CASE WHEN json_valid(price_details)
    THEN json_extract_string(price_details, '$.InstanceType') END) AS instance_type,
  CAST(nullif(regexp_extract(
    CASE WHEN json_valid(price_details) THEN json_extract_string(price_details, '$.GpuCount') END,
    '^[0-9]{1,4}([.][0-9]{1,6})?$', 0), '') AS DECIMAL(18,6)) AS gpu_count
FROM (
  SELECT {{dimensions}},
    count(*) AS lines,
    min(delivery) AS first_delivery,
    max(delivery) AS last_delivery,
    min(period_start) AS first_start,
    max(period_end) AS last_end,
    max(CASE WHEN end_second(period_start, period_end) - epoch_second(period_start) <= 86400
      THEN end_second(period_start, period_end) END) AS metered_end,
    min(end_second(period_start, period_end) - epoch_second(period_start)) AS shortest,
    max(end_second(period_start, period_end) - epoch_second(period_start)) AS longest,
    sum(effective) AS effective,
    coalesce(sum(billed), 0) AS billed,
    coalesce(sum(list), 0) AS list,
    coalesce(sum(contracted), 0) AS contracted,
    sum(greatest(abs(effective), abs(billed), abs(list), abs(contracted))) AS most,
    count(*) - count(list) AS without_list,
    count(*) - count(contracted) AS without_contracted,
    sum(finer) AS finer
  FROM {{charges}}
  GROUP BY {{dimensions}}
)
