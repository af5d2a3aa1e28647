-- Weigh each payer, machine and day in each spend pot by its effective cost so far, in whole millionths or coarser.
-- In: named_parts or some of them, routes, attempts, machines, payers, spend_pots. Out: weights above zero; a payer with
-- a negative cost has none, and idle cost has none where the rule spreads it. A charge without a billing account, as in
-- a ledger, is split across all payers.
WITH spent AS (
  SELECT n.payer_key, r.machine, n.day, r.currency, r.billing_account, r.account, sum(n.effective) AS effective
  FROM {{parts}} n JOIN routes r ON r.route = n.route
  GROUP BY n.payer_key, r.machine, n.day, r.currency, r.billing_account, r.account
),
scoped AS (
  SELECT p.route, s.payer_key, s.machine, s.day, sum(s.effective) AS effective
  FROM (SELECT DISTINCT route, currency, among, idle, scope FROM spend_pots) p
  JOIN spent s ON s.currency = p.currency
  LEFT JOIN machines m ON m.machine = s.machine
  LEFT JOIN attempts a ON a.attempt_key = s.payer_key
  LEFT JOIN payers y ON y.payer_key = s.payer_key
  WHERE NOT (p.idle = 'spread' AND coalesce(y.payer_kind = 'idle', false)) AND CASE
    WHEN p.among = 'all' THEN p.scope IS NULL OR s.billing_account = p.scope
    WHEN p.among = 'account' THEN s.account IS NOT DISTINCT FROM p.scope
    WHEN p.among = 'cluster' THEN lower(m.cluster) = p.scope
    WHEN p.among = 'region' THEN lower(m.region) = p.scope
    WHEN p.among = 'machine' THEN m.resource = p.scope
    WHEN p.among = 'job' THEN lower(a.job_id) = p.scope
    {{tags}}
    ELSE false END
  GROUP BY p.route, s.payer_key, s.machine, s.day
)
SELECT route, payer_key, machine, day,
  CAST(floor(effective * {{scale}}) AS BIGINT) AS weight
FROM scoped WHERE effective * {{scale}} >= 1
