-- Tell which earlier estimates the bill covers now.
-- In: past_estimates, billed_services, billed_machines. Out: the estimates by resource and hour. One is covered once the
-- bill reaches its end: the bill for its service on that machine, or for the machine's time if it names no service.
SELECT lower(e.resource_id) AS resource, e.starts // 3600 AS hour, e.kind, e.category, e.service, e.billed_services,
  e.method, e.price_source, e.currency, e.seconds, e.effective,
  coalesce(s.through, m.time_through, 0) >= e.ends AS is_covered
FROM past_estimates e
LEFT JOIN (
  SELECT resource, service_name, min(through) AS through FROM billed_services GROUP BY resource, service_name
) s ON s.resource = lower(e.resource_id) AND s.service_name = e.service
LEFT JOIN (SELECT resource, max(time_through) AS time_through FROM billed_machines GROUP BY resource) m
  ON m.resource = lower(e.resource_id)
