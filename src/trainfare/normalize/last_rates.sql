-- Compute what machines cost on their last billed day, per machine and per kind of machine.
-- In: keyed_charges, charge_kinds, billed_services. Out: money and the machine seconds it paid for, per service and
-- category, and the second from which it is not billed yet. Level 1 is the machine itself, level 2 its kind in its
-- account, level 3 its kind anywhere. A service's last billed day ends where both it and the machine's time are billed.
-- A service that was not charged for all of the machine's time on that day, or not at all in a month in which the
-- machine was, comes and goes: while the machine's time is billed, it is taken as not used, and if it was not used on
-- the machine's last billed day, it is left out.
WITH ends AS (
  SELECT resource, max(metered_end) AS time_end, max(through) AS time_through FROM billed_services
  WHERE category IN ('compute', 'platform') GROUP BY resource
),
windows AS (
  SELECT b.*, e.time_end, e.time_through, least(b.metered_end, e.time_end) AS window_end
  FROM billed_services b JOIN ends e ON e.resource = b.resource
  WHERE b.metered_end IS NOT NULL AND e.time_end IS NOT NULL
),
lines AS (
  SELECT w.resource, lower(k.instance_type) AS kind, k.category, k.currency, k.billing_account, k.account,
    k.service_name, w.through, w.metered_end, w.time_end, w.time_through, w.window_end,
    c.pricing_category = 'Dynamic' AS spot,
    epoch_second(c.period_start) AS starts, end_second(c.period_start, c.period_end) AS ends, c.effective, c.billed,
    coalesce(c.list, 0) AS list, coalesce(c.contracted, 0) AS contracted
  FROM keyed_charges c
  JOIN charge_kinds k ON k.kind = c.kind
  JOIN windows w ON w.resource = lower(k.resource_id) AND w.category = k.category
    AND w.service_name IS NOT DISTINCT FROM k.service_name AND w.account IS NOT DISTINCT FROM k.account
    AND w.billing_account IS NOT DISTINCT FROM k.billing_account
  WHERE k.origin = 'bill' AND k.charge_category = 'Usage' AND k.month <= {{month}}
),
recent AS (
  SELECT * FROM lines WHERE starts >= window_end - 86400 AND ends <= window_end
),
time_lines AS (
  SELECT resource, min(kind) AS kind, starts, ends FROM lines
  WHERE category IN ('compute', 'platform') AND ends > starts AND ends - starts <= 86400
  GROUP BY resource, starts, ends
),
times AS (
  SELECT w.resource, w.window_end, min(t.kind) AS kind, CAST(sum(t.ends - t.starts) AS BIGINT) AS seconds
  FROM (SELECT DISTINCT resource, window_end FROM windows) w
  JOIN time_lines t ON t.resource = w.resource AND t.starts >= w.window_end - 86400 AND t.ends <= w.window_end
  GROUP BY w.resource, w.window_end
),
charged AS (
  SELECT resource, billing_account, account, service_name, category, CAST(sum(ends - starts) AS BIGINT) AS seconds
  FROM (SELECT DISTINCT resource, billing_account, account, service_name, category, starts, ends FROM recent)
  GROUP BY resource, billing_account, account, service_name, category
),
summed AS (
  SELECT l.resource, l.billing_account, l.account, l.service_name, l.category, l.currency,
    any_value(l.through) AS through, any_value(l.metered_end) AS metered_end, any_value(l.time_end) AS time_end,
    any_value(l.time_through) AS time_through, any_value(l.window_end) AS window_end,
    bool_or(coalesce(l.spot, false)) AS spot, sum(l.effective) AS effective, sum(l.billed) AS billed,
    sum(l.list) AS list, sum(l.contracted) AS contracted
  FROM recent l
  GROUP BY l.resource, l.billing_account, l.account, l.service_name, l.category, l.currency
),
machine_rates AS (
  SELECT s.*, t.kind, t.seconds, c.seconds >= t.seconds
      AND (s.metered_end > {{month_start}} OR s.time_end <= {{month_start}}) AS is_steady
  FROM summed s
  JOIN times t ON t.resource = s.resource AND t.window_end = s.window_end
  JOIN charged c ON c.resource = s.resource AND c.category = s.category
    AND c.service_name IS NOT DISTINCT FROM s.service_name AND c.account IS NOT DISTINCT FROM s.account
    AND c.billing_account IS NOT DISTINCT FROM s.billing_account
),
used AS (
  SELECT *, CASE WHEN is_steady THEN through ELSE greatest(through, time_through) END AS from_second
  FROM machine_rates WHERE is_steady OR window_end > time_end - 86400
),
-- A kind costs what those of its machines cost that were billed on the last day on which any was.
of_kinds AS (
  SELECT resource, kind, seconds, time_end, account,
    max(time_end) OVER (PARTITION BY kind, account) AS account_end, max(time_end) OVER (PARTITION BY kind) AS kind_end
  FROM (
    SELECT t.resource, t.kind, t.seconds, e.time_end, a.account
    FROM times t
    JOIN ends e ON e.resource = t.resource AND e.time_end = t.window_end
    JOIN (
      SELECT resource, min(account) AS account FROM billed_services
      WHERE category IN ('compute', 'platform') GROUP BY resource
    ) a ON a.resource = t.resource
    WHERE t.kind IS NOT NULL
  )
),
leveled AS (
  SELECT 2 AS level, resource, kind, seconds, account FROM of_kinds WHERE time_end > account_end - 86400
  UNION ALL
  SELECT 3, resource, kind, seconds, CAST(NULL AS VARCHAR) FROM of_kinds WHERE time_end > kind_end - 86400
),
kind_seconds AS (
  SELECT level, kind, account, CAST(sum(seconds) AS BIGINT) AS seconds FROM leveled GROUP BY level, kind, account
)
SELECT 1 AS level, resource AS name, kind, category, service_name, currency, billing_account, account, spot, effective,
  billed, list, contracted, seconds, from_second
FROM used
UNION ALL
SELECT v.level, v.kind, v.kind, u.category, u.service_name, u.currency, min(u.billing_account),
  coalesce(v.account, min(u.account)), bool_and(u.spot), sum(u.effective), sum(u.billed), sum(u.list),
  sum(u.contracted), any_value(k.seconds), CAST(NULL AS BIGINT)
FROM leveled v
JOIN used u ON u.resource = v.resource
JOIN kind_seconds k ON k.level = v.level AND k.kind = v.kind AND k.account IS NOT DISTINCT FROM v.account
GROUP BY v.level, v.kind, v.account, u.category, u.service_name, u.currency
