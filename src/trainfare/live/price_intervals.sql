-- Join consecutive hours in which a machine has the same price into one interval.
-- In: estimates, machines. Out: the price of each machine as intervals, by category and service: money per
-- rated_seconds.
WITH numbered AS (
  SELECT *, hour - row_number() OVER (
      PARTITION BY machine, category, service, currency, billing_account, account, effective, rated_seconds, method,
        price_source
      ORDER BY hour
    ) AS island
  FROM estimates
)
SELECT m.resource, n.category, n.service, n.currency, n.billing_account, n.account,
  CAST(in_units(n.effective) AS VARCHAR) AS units, CAST(n.rated_seconds AS BIGINT) AS rated_seconds, n.method,
  n.price_source, CAST(min(n.starts) AS BIGINT) AS starts, CAST(max(n.ends) AS BIGINT) AS ends
FROM numbered n JOIN machines m ON m.machine = n.machine
GROUP BY m.resource, n.category, n.service, n.currency, n.billing_account, n.account, n.effective, n.rated_seconds,
  n.method, n.price_source, n.island
