-- Licenses that cost nothing in the previous book; without a previous book, those that start within the month.
-- At stake: their cost in the month. A license is known by its name, whichever source has it.
WITH licenses AS (
  SELECT month, lower(coalesce(service_name, resource_name, 'license')) AS name,
    min(epoch_second(first_start)) AS first_second, sum(abs(effective)) AS cost
  FROM charge_kinds WHERE category = 'license' GROUP BY month, lower(coalesce(service_name, resource_name, 'license'))
),
previous AS (
  SELECT max(month) AS month FROM charge_kinds WHERE month < {{month}}
),
new_names AS (
  SELECT l.name
  FROM licenses l
  CROSS JOIN previous p
  LEFT JOIN licenses e ON e.month = p.month AND e.name = l.name AND e.cost > 0
  WHERE l.month = {{month}} AND e.name IS NULL AND (p.month IS NOT NULL OR l.first_second > {{month_start}})
)
SELECT 'source ' || k.source || ', ' || coalesce(k.service_name, k.resource_name, 'license') || ': from '
    || CAST(min(k.first_start) AS DATE) AS evidence,
  sum(k.effective) AS at_stake, k.currency
FROM routed_kinds k
JOIN new_names n ON n.name = lower(coalesce(k.service_name, k.resource_name, 'license'))
WHERE k.category = 'license'
GROUP BY k.source, k.service_name, k.resource_name, k.currency
