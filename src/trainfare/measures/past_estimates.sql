-- List the estimates of earlier versions that no later estimate replaced, each the last one of its hour.
-- In: previous_estimates and previous_past_estimates (of the previous version), stored_estimates. Out: what the bill is
-- compared with, now or once it covers the hour. An estimate is replaced by one of the same machine, hour and category,
-- unless both name their service and these differ.
WITH earlier AS (
  SELECT resource_id, machine_id, kind, category, service, billed_services, method, price_source, currency, starts, ends,
    seconds, effective, 1 AS age
  FROM previous_estimates
  UNION ALL
  SELECT resource_id, machine_id, kind, category, service, billed_services, method, price_source, currency, starts, ends,
    seconds, effective, 2
  FROM previous_past_estimates
),
later AS (
  SELECT lower(resource_id) AS resource, category, service, starts // 3600 AS hour, 0 AS age FROM stored_estimates
  UNION ALL
  SELECT lower(resource_id), category, service, starts // 3600, age FROM earlier
)
SELECT e.resource_id, e.machine_id, e.kind, e.category, e.service, e.billed_services, e.method, e.price_source,
  e.currency, e.starts, e.ends, e.seconds, e.effective
FROM earlier e
WHERE NOT EXISTS (
  SELECT 1 FROM later l
  WHERE l.resource = lower(e.resource_id) AND l.category = e.category AND l.hour = e.starts // 3600 AND l.age < e.age
    AND coalesce(l.service = e.service, true)
)
