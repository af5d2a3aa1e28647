-- Compare earlier estimates with what the bill says now about the same machine hours.
-- In: covered_estimates, keyed_charges, routed_kinds. Out: estimated and billed cost per day, category, kind of machine
-- and method. A charge counts by the part of its time that lies in estimated hours, of each sum of a period the integer
-- part. Usage in a category that was not estimated counts too, unless it was on the bill when the estimate was made.
WITH hours AS (
  SELECT resource, hour, min(kind) AS kind, max(billed_services) AS billed_services
  FROM covered_estimates WHERE is_covered GROUP BY resource, hour
),
services AS (
  SELECT resource, hour, service, bool_and(is_covered) AS is_covered
  FROM covered_estimates WHERE service IS NOT NULL GROUP BY resource, hour, service
),
lines AS (
  SELECT lower(k.resource_id) AS resource, k.service_name, k.category, k.currency,
    epoch_second(c.period_start) AS starts, end_second(c.period_start, c.period_end) AS ends,
    CAST(sum(c.effective) AS DECIMAL(38,12)) AS effective
  FROM keyed_charges c
  JOIN routed_kinds k ON k.kind = c.kind
  WHERE k.origin = 'bill' AND k.charge_category = 'Usage' AND lower(k.resource_id) IN (SELECT resource FROM hours)
    AND c.period_end > c.period_start
  GROUP BY lower(k.resource_id), k.service_name, k.category, k.currency, epoch_second(c.period_start),
    end_second(c.period_start, c.period_end)
),
line_hours AS (
  SELECT *, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour FROM lines
),
parts AS (
  SELECT l.resource, l.category, l.currency, l.hour // 24 AS day, l.effective, l.starts, l.ends,
    min(h.kind) AS kind,
    CAST(sum(least(l.ends, l.hour * 3600 + 3600) - greatest(l.starts, l.hour * 3600)) AS BIGINT) AS seconds
  FROM line_hours l
  JOIN hours h ON h.resource = l.resource AND h.hour = l.hour
  LEFT JOIN services s ON s.resource = l.resource AND s.hour = l.hour AND s.service = l.service_name
  WHERE coalesce(s.is_covered, true) AND (
    h.billed_services IS NULL OR json_value(h.billed_services, l.service_name) IS NULL
    OR (s.service IS NOT NULL AND l.ends - l.starts <= 86400))
  GROUP BY l.resource, l.service_name, l.category, l.currency, l.hour // 24, l.effective, l.starts, l.ends
),
billed AS (
  SELECT resource, category, currency, day, min(kind) AS kind,
    sum(as_money(integer_part(in_units(effective), seconds, CAST(ends - starts AS BIGINT)))) AS billed
  FROM parts GROUP BY resource, category, currency, day
),
estimated AS (
  SELECT resource, category, currency, hour // 24 AS day, min(kind) AS kind, min(method) AS method,
    min(price_source) AS price_source, sum(seconds) AS seconds, sum(effective) AS estimated
  FROM covered_estimates WHERE is_covered GROUP BY resource, category, currency, hour // 24
),
compared AS (
  SELECT coalesce(e.day, b.day) AS day, coalesce(e.category, b.category) AS category,
    coalesce(e.kind, b.kind, e.resource, b.resource) AS kind, coalesce(e.method, 'not estimated') AS method,
    e.price_source, coalesce(e.currency, b.currency) AS currency, coalesce(e.seconds, 0) AS seconds,
    coalesce(e.estimated, 0) AS estimated, coalesce(b.billed, 0) AS billed
  FROM estimated e
  FULL JOIN billed b
    ON b.resource = e.resource AND b.category = e.category AND b.currency = e.currency AND b.day = e.day
)
SELECT DATE '1970-01-01' + CAST(day AS INTEGER) AS day, category, kind, method, price_source, currency,
  CAST(sum(seconds) AS BIGINT) AS machine_seconds, CAST(sum(estimated) AS DECIMAL(38,12)) AS estimated,
  CAST(sum(billed) AS DECIMAL(38,12)) AS billed
FROM compared
GROUP BY day, category, kind, method, price_source, currency
HAVING sum(seconds) > 0 OR sum(billed) <> 0
