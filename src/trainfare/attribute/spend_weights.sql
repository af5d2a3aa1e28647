-- In: named_parts, channels, attempts, machines, spend_pots. Out: what each payer, machine and day weighs in each spend pot: its effective cost so far,
-- in whole millionths or coarser. Who was given less than nothing weighs nothing. A charge of no billing
-- account, as in a ledger, is for everybody.
WITH given AS (
  SELECT n.payer_key, c.machine, n.day, c.currency, c.billing_account, c.account, sum(n.effective) AS effective
  FROM named_parts n JOIN channels c ON c.channel = n.channel
  GROUP BY n.payer_key, c.machine, n.day, c.currency, c.billing_account, c.account
),
scoped AS (
  SELECT p.channel, g.payer_key, g.machine, g.day, sum(g.effective) AS effective
  FROM (SELECT DISTINCT channel, currency, among, scope FROM spend_pots) p
  JOIN given g ON g.currency = p.currency
  LEFT JOIN machines m ON m.machine = g.machine
  LEFT JOIN attempts a ON a.attempt_key = g.payer_key
  WHERE CASE
    WHEN p.among = 'all' THEN p.scope IS NULL OR g.billing_account = p.scope
    WHEN p.among = 'account' THEN g.account IS NOT DISTINCT FROM p.scope
    WHEN p.among = 'cluster' THEN lower(m.cluster) = p.scope
    WHEN p.among = 'region' THEN lower(m.region) = p.scope
    WHEN p.among = 'machine' THEN m.resource = p.scope
    WHEN p.among = 'job' THEN lower(a.job_id) = p.scope
    {{tags}}
    ELSE false END
  GROUP BY p.channel, g.payer_key, g.machine, g.day
)
SELECT channel, payer_key, machine, day,
  CAST(floor(effective * {{scale}}) AS BIGINT) AS weight
FROM scoped WHERE effective * {{scale}} >= 1
