-- Licences that begin to cost within the month, and that no earlier month has. At stake: what they cost in it.
SELECT 'source ' || k.source || ', ' || coalesce(k.service_name, k.resource_name, 'licence') || ': from ' || CAST(min(k.first_start) AS DATE) AS evidence,
  sum(k.effective) AS at_stake, k.currency
FROM routed_kinds k
WHERE k.category = 'licence'
  AND NOT EXISTS (
    SELECT 1 FROM charge_kinds e WHERE e.category = 'licence' AND e.month < k.month AND e.source = k.source AND e.service_name IS NOT DISTINCT FROM k.service_name
  )
GROUP BY k.source, k.service_name, k.resource_name, k.currency
HAVING epoch_second(min(k.first_start)) > {{month_start}}
