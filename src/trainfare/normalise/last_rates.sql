-- In: keyed_charges, charge_kinds. Out: what machines cost in the last day that was billed, per machine and per kind of machine, each category on its own: money and
-- the machine seconds it was for. level 1 is the machine itself, level 2 its kind.
WITH lines AS (
  SELECT lower(k.resource_id) AS resource, lower(k.instance_type) AS kind, k.category, k.currency, k.billing_account, k.account, k.region,
    c.pricing_category = 'Dynamic' AS spot, epoch_second(c.period_start) AS starts, epoch_second(c.period_end) AS ends,
    c.effective, c.billed, coalesce(c.list, 0) AS list, coalesce(c.contracted, 0) AS contracted
  FROM keyed_charges c JOIN charge_kinds k ON k.kind = c.kind
  WHERE c.period_start >= TIMESTAMP '{{first_moment}}' AND c.period_end <= TIMESTAMP '{{last_moment}}'
    AND k.origin = 'bill' AND k.charge_category = 'Usage' AND k.resource_id IS NOT NULL AND k.longest <= 86400
),
times AS (
  SELECT resource, min(kind) AS kind, sum(seconds) AS seconds
  FROM (SELECT resource, min(kind) AS kind, starts, ends - starts AS seconds FROM lines WHERE category = 'compute' AND ends > starts GROUP BY resource, starts, ends - starts)
  GROUP BY resource
),
machine_rates AS (
  SELECT l.resource, t.kind, l.category, l.currency, min(l.billing_account) AS billing_account, min(l.account) AS account, min(l.region) AS region,
    bool_or(coalesce(l.spot, false)) AS spot, sum(l.effective) AS effective, sum(l.billed) AS billed, sum(l.list) AS list, sum(l.contracted) AS contracted,
    any_value(t.seconds) AS seconds
  FROM lines l JOIN times t ON t.resource = l.resource
  GROUP BY l.resource, t.kind, l.category, l.currency
)
SELECT 1 AS level, resource AS name, kind, category, currency, billing_account, account, region, spot, effective, billed, list, contracted,
  CAST(seconds AS BIGINT) AS seconds
FROM machine_rates
UNION ALL
SELECT 2, r.kind, r.kind, r.category, r.currency, min(r.billing_account), min(r.account), min(r.region), bool_and(r.spot),
  sum(r.effective), sum(r.billed), sum(r.list), sum(r.contracted), CAST(any_value(k.seconds) AS BIGINT)
FROM machine_rates r
JOIN (SELECT kind, sum(seconds) AS seconds FROM times GROUP BY kind) k ON k.kind = r.kind
GROUP BY r.kind, r.category, r.currency
