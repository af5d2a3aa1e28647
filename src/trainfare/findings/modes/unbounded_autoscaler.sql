-- Machines that started in a burst of four or more in one pool, existed for two hours or more, and were idle for three
-- quarters of their cost or more. At stake: their idle cost.
-- A machine whose start is not on record starts with its first charge, unless the bill itself starts then.
WITH billed AS (
  SELECT machine, min(epoch_second(first_start)) AS first_second, max(epoch_second(last_end)) AS last_second
  FROM routed_kinds
  WHERE machine IS NOT NULL AND category = 'compute' AND charge_category = 'Usage' AND source NOT LIKE '% adjusting %'
  GROUP BY machine
),
lifetimes AS (
  SELECT m.machine_id, m.resource_id, coalesce(m.pool, m.account, m.region, '') AS pool,
    CASE
      WHEN m.existed_from > -9000000000 THEN m.existed_from
      WHEN b.first_second > (SELECT min(first_second) FROM billed) THEN b.first_second
    END AS appeared,
    least(b.last_second, m.existed_to) AS gone
  FROM machines m JOIN billed b ON b.machine = m.machine
),
cost AS (
  SELECT resource_id, currency, sum(effective) AS effective,
    coalesce(sum(effective) FILTER (reason = 'not held by any job'), 0) AS idle
  FROM cost_summary WHERE resource_id IS NOT NULL GROUP BY resource_id, currency
),
unused AS (
  SELECT c.*, s.idle, s.currency,
    CASE WHEN c.appeared - lag(c.appeared) OVER (
        PARTITION BY c.pool, s.currency ORDER BY c.appeared, c.machine_id
      ) <= 1800 THEN 0 ELSE 1 END AS begins
  FROM lifetimes c JOIN cost s ON s.resource_id = c.resource_id
  WHERE c.appeared > {{month_start}} AND c.gone - c.appeared >= 7200 AND s.effective > 0
    AND s.idle * 4 >= s.effective * 3
),
bursts AS (
  SELECT *, sum(begins) OVER (PARTITION BY pool, currency ORDER BY appeared, machine_id) AS burst FROM unused
)
SELECT 'pool ' || pool || ': ' || count(*) || ' idle machines from ' || make_timestamp(min(appeared) * 1000000)
    || ', such as ' || min(machine_id) AS evidence,
  sum(idle) AS at_stake, currency
FROM bursts GROUP BY pool, burst, currency HAVING count(*) >= 4
