-- In: previous_estimates and previous_errors (of the version before), keyed_charges, routed_kinds. Out: what was estimated and what the bill then said, per day, category, kind of machine and way of
-- estimating. An hour counts once its machine's bill has come, by the last estimate before that.
WITH settled AS (
  SELECT * FROM previous_estimates WHERE ends <= {{through}}
),
windows AS (
  SELECT lower(resource_id) AS resource, min(starts // 3600 * 3600) AS starts, max((ends + 3599) // 3600 * 3600) AS ends FROM settled GROUP BY lower(resource_id)
),
billed AS (
  SELECT w.resource, k.category, k.currency, epoch_second(c.period_start) // 86400 AS day, sum(c.effective) AS billed
  FROM keyed_charges c
  JOIN routed_kinds k ON k.kind = c.kind
  JOIN windows w ON w.resource = lower(k.resource_id)
  WHERE k.origin = 'bill' AND epoch_second(c.period_start) >= w.starts AND epoch_second(c.period_end) <= w.ends
  GROUP BY w.resource, k.category, k.currency, epoch_second(c.period_start) // 86400
),
estimated AS (
  SELECT lower(resource_id) AS resource, category, currency, starts // 86400 AS day, min(kind) AS kind, min(method) AS method, min(price_source) AS price_source,
    sum(seconds) AS seconds, sum(effective) AS estimated
  FROM settled GROUP BY lower(resource_id), category, currency, starts // 86400
)
SELECT DATE '1970-01-01' + CAST(e.day AS INTEGER) AS day, e.category, coalesce(e.kind, e.resource) AS kind, e.method, e.price_source, e.currency,
  CAST(sum(e.seconds) AS BIGINT) AS machine_seconds, CAST(sum(e.estimated) AS DECIMAL(38,12)) AS estimated, CAST(sum(coalesce(b.billed, 0)) AS DECIMAL(38,12)) AS billed
FROM estimated e
LEFT JOIN billed b ON b.resource = e.resource AND b.category = e.category AND b.currency = e.currency AND b.day = e.day
GROUP BY e.day, e.category, coalesce(e.kind, e.resource), e.method, e.price_source, e.currency
UNION ALL
SELECT day, category, kind, method, price_source, currency, machine_seconds, estimated, billed FROM previous_errors
