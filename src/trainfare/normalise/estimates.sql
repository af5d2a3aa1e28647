-- In: alive, machines, resources, last_rates, price_list. Out: what each hour of a machine without a bill is expected to cost: by the spot price of that hour for a machine on the spot
-- market, else by its own or its kind's last rate, else by contract, else by list price. A machine of which no price is known is left out.
WITH hours AS (
  SELECT machine, hour, greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
  FROM (SELECT *, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour FROM alive)
),
held AS (
  SELECT h.machine, h.hour, min(h.starts) AS starts, max(h.ends) AS ends, sum(h.ends - h.starts) AS seconds, any_value(m.resource) AS resource,
    any_value(m.resource_id) AS resource_id, any_value(m.machine_id) AS machine_id, any_value(coalesce(r.instance_type, lower(m.gpu_model))) AS kind,
    any_value(lower(m.region)) AS region, any_value(m.account) AS account
  FROM hours h JOIN machines m ON m.machine = h.machine LEFT JOIN resources r ON r.resource = m.resource
  GROUP BY h.machine, h.hour
),
rates AS (
  SELECT h.*, l.level, l.category, l.currency, l.billing_account, coalesce(l.account, h.account) AS billed_account, l.spot, l.effective, l.billed, l.list, l.contracted,
    CAST(l.seconds AS BIGINT) AS whole, 'last rate' AS method, 'the machine''s own' AS price_source
  FROM held h JOIN last_rates l ON l.level = 1 AND l.name = h.resource
  UNION ALL
  SELECT h.*, l.level, l.category, l.currency, l.billing_account, coalesce(l.account, h.account), l.spot, l.effective, l.billed, l.list, l.contracted,
    CAST(l.seconds AS BIGINT), 'last rate', 'of ' || l.kind
  FROM held h JOIN last_rates l ON l.level = 2 AND l.name = h.kind
),
rated AS (
  SELECT * FROM (SELECT *, min(level) OVER (PARTITION BY machine, hour) AS best FROM rates) WHERE level = best
),
priced AS (
  SELECT h.*, p.term, p.price, p.currency, coalesce(p.source, 'price list') AS price_source,
    row_number() OVER (PARTITION BY h.machine, h.hour, p.term ORDER BY p.region NULLS LAST, p.starts DESC, p.price, p.currency) AS place
  FROM held h JOIN price_list p ON p.kind = h.kind AND p.starts <= h.hour * 3600 AND p.ends > h.hour * 3600 AND (p.region IS NULL OR h.region IS NULL OR p.region = h.region)
),
offers AS (
  SELECT machine, hour, starts, ends, seconds, resource_id, machine_id, kind, category, currency, billing_account, billed_account AS account, effective, billed, list, contracted,
    whole, method, price_source, 2 AS preference
  FROM rated
  UNION ALL
  SELECT p.machine, p.hour, p.starts, p.ends, p.seconds, p.resource_id, p.machine_id, p.kind, 'compute', p.currency, r.billing_account, coalesce(r.billed_account, p.account),
    p.price, p.price, p.price, p.price, 3600,
    CASE p.term WHEN 'spot' THEN 'spot price' WHEN 'contract' THEN 'contract' ELSE 'price list' END, p.price_source,
    CASE WHEN p.term = 'spot' AND coalesce(r.spot, false) THEN 1 WHEN p.term = 'contract' THEN 3 ELSE 4 END
  FROM priced p
  LEFT JOIN (SELECT machine, hour, bool_or(spot) AS spot, min(billing_account) AS billing_account, min(billed_account) AS billed_account FROM rated GROUP BY machine, hour) r
    ON r.machine = p.machine AND r.hour = p.hour
  WHERE p.place = 1 AND (p.term IN ('contract', 'on_demand') OR (p.term = 'spot' AND coalesce(r.spot, false)))
)
SELECT * EXCLUDE (best)
FROM (SELECT *, min(preference) OVER (PARTITION BY machine, hour) AS best FROM offers)
WHERE preference = best
