-- Estimate what each unbilled hour of a machine will cost.
-- In: unbilled_presence, billed_machines, billed_services, machines, resources, last_rates, price_list. Out: money per
-- rated_seconds, for each machine, hour, category and service, from the second through which that service is billed.
-- Machine time is estimated by the spot price of that hour for a spot machine, else by the machine's own last rate or
-- that of its kind, else by contract price, else by list price; other services by their last rate. A machine without
-- any known price is left out. billed_services lists what the machine was already billed for in that hour.
WITH present AS (
  SELECT machine, hour, greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
  FROM (SELECT *, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour FROM unbilled_presence)
),
described AS (
  SELECT m.machine, m.resource, m.resource_id, m.machine_id, coalesce(r.instance_type, lower(m.gpu_model)) AS kind,
    lower(m.region) AS region, m.account, b.time_through
  FROM machines m
  JOIN billed_machines b ON b.machine = m.machine
  LEFT JOIN resources r ON r.resource = m.resource
  WHERE m.machine IN (SELECT machine FROM unbilled_presence)
),
rates AS (
  SELECT d.machine, l.* EXCLUDE (account, from_second, kind, name), l.account AS billed_account, l.from_second,
    'the machine''s own' AS price_source
  FROM described d JOIN last_rates l ON l.level = 1 AND l.name = d.resource
  UNION ALL
  SELECT d.machine, l.* EXCLUDE (account, from_second, kind, name), coalesce(d.account, l.account), d.time_through,
    'of ' || l.kind
  FROM described d JOIN last_rates l ON l.name = d.kind AND (l.level = 3 OR (l.level = 2 AND l.account = d.account))
),
rated AS (
  SELECT * FROM (SELECT *, min(level) OVER (PARTITION BY machine) AS best FROM rates) WHERE level = best
),
rated_hours AS (
  SELECT p.machine, p.hour, min(greatest(p.starts, r.from_second)) AS starts, max(p.ends) AS ends,
    sum(p.ends - greatest(p.starts, r.from_second)) AS seconds, r.category, r.service_name, r.currency,
    r.billing_account, r.billed_account AS account, r.effective, r.billed, r.list, r.contracted,
    r.seconds AS rated_seconds, r.price_source
  FROM present p JOIN rated r ON r.machine = p.machine AND p.ends > r.from_second
  GROUP BY p.machine, p.hour, r.category, r.service_name, r.currency, r.billing_account, r.billed_account, r.effective,
    r.billed, r.list, r.contracted, r.seconds, r.price_source
),
time_hours AS (
  SELECT p.machine, p.hour, d.kind, d.region, min(greatest(p.starts, d.time_through)) AS starts, max(p.ends) AS ends,
    sum(p.ends - greatest(p.starts, d.time_through)) AS seconds
  FROM present p JOIN described d ON d.machine = p.machine AND p.ends > d.time_through
  GROUP BY p.machine, p.hour, d.kind, d.region
),
priced AS (
  SELECT h.*, p.term, p.price, p.currency, coalesce(p.source, 'price list') AS price_source,
    row_number() OVER (
      PARTITION BY h.machine, h.hour, p.term ORDER BY p.region NULLS LAST, p.starts DESC, p.price, p.currency
    ) AS ranking
  FROM time_hours h
  JOIN price_list p ON p.kind = h.kind AND p.starts <= h.hour * 3600 AND p.ends > h.hour * 3600
    AND (p.region IS NULL OR h.region IS NULL OR p.region = h.region)
),
known AS (
  SELECT machine, bool_or(spot AND category IN ('compute', 'platform')) AS spot,
    min(billing_account) AS billing_account, min(billed_account) AS billed_account
  FROM rated GROUP BY machine
),
candidates AS (
  SELECT machine, hour, starts, ends, seconds, category, service_name, currency, billing_account, account, effective,
    billed, list, contracted, rated_seconds, 'last rate' AS method, price_source, 2 AS preference
  FROM rated_hours
  UNION ALL
  SELECT p.machine, p.hour, p.starts, p.ends, p.seconds, 'compute', NULL, p.currency, k.billing_account,
    coalesce(k.billed_account, d.account), p.price, p.price, p.price, p.price, 3600,
    CASE p.term WHEN 'spot' THEN 'spot price' WHEN 'contract' THEN 'contract' ELSE 'price list' END, p.price_source,
    CASE p.term WHEN 'spot' THEN 1 WHEN 'contract' THEN 3 ELSE 4 END
  FROM priced p
  JOIN described d ON d.machine = p.machine
  LEFT JOIN known k ON k.machine = p.machine
  WHERE p.ranking = 1 AND (p.term IN ('contract', 'on_demand') OR (p.term = 'spot' AND coalesce(k.spot, false)))
),
chosen AS (
  SELECT * FROM (
    SELECT *, min(preference) OVER (
        PARTITION BY machine, hour, CASE WHEN category IN ('compute', 'platform') THEN 'time' ELSE category END
      ) AS best
    FROM candidates
  )
  WHERE preference = best
),
already_billed AS (
  SELECT machine, hour, json_object_of(service_name, category) AS services
  FROM (
    SELECT h.machine, h.hour, b.service_name, min(b.category) AS category
    FROM (SELECT DISTINCT machine, hour FROM chosen) h
    JOIN described d ON d.machine = h.machine
    JOIN billed_services b ON b.resource = d.resource AND b.last_end >= h.hour * 3600 + 3600
    WHERE b.service_name IS NOT NULL
    GROUP BY h.machine, h.hour, b.service_name
  )
  GROUP BY machine, hour
)
SELECT c.machine, c.hour, c.starts, c.ends, c.seconds, d.resource_id, d.machine_id, d.kind, c.category,
  c.service_name AS service, c.currency, c.billing_account, c.account, c.effective, c.billed, c.list, c.contracted,
  c.rated_seconds, c.method, c.price_source, c.preference, a.services AS billed_services
FROM chosen c
JOIN described d ON d.machine = c.machine
LEFT JOIN already_billed a ON a.machine = c.machine AND a.hour = c.hour
