-- Find the machines that may have run after the bill for them ends, a day or more before the job log does.
-- In: routed_kinds, machines, stored_placements. Out: per machine and currency of its bill, how long it was held or
-- seen after that, and how much longer it may have existed according to the machine file alone. A machine is billed
-- through the end of its own charges; held less than a day beyond them, it waits for the bill of its account. What is
-- still billed when the account's bill ends ran on until it was held or seen again; a removal on record is a time it
-- was seen.
WITH metered AS (
  SELECT machine, account, currency, epoch_second(first_start) AS first_second, epoch_second(last_end) AS last_second,
    effective
  FROM routed_kinds
  WHERE charge_category = 'Usage' AND longest <= 86400 AND origin <> 'estimate' AND source NOT LIKE '% adjusting %'
),
account_bills AS (
  SELECT account, max(last_second) AS billed_to FROM metered GROUP BY account
),
machine_bills AS (
  SELECT machine, max(last_second) AS billed_to FROM metered WHERE machine IS NOT NULL GROUP BY machine
),
costs AS (
  SELECT machine, currency, min(first_second) AS first_second, max(last_second) AS last_second,
    sum(effective) AS effective
  FROM metered WHERE machine IS NOT NULL GROUP BY machine, currency
),
-- A name that only the bill explains means nothing after the bill ends: it still stands for the machine billed last.
last_of_name AS (
  SELECT lower(m.machine_id) AS name, m.machine
  FROM machines m LEFT JOIN machine_bills b ON b.machine = m.machine
  QUALIFY row_number() OVER (PARTITION BY lower(m.machine_id) ORDER BY coalesce(b.billed_to, 0) DESC, m.machine) = 1
),
seen AS (
  SELECT machine, starts, ends FROM stored_placements WHERE machine IS NOT NULL
  UNION ALL
  SELECT n.machine, h.starts, h.ends
  FROM stored_placements h JOIN last_of_name n ON n.name = lower(h.unknown_machine) WHERE h.machine IS NULL
  UNION ALL
  SELECT machine, existed_from, existed_to FROM machines WHERE existed_to < 253402300800
),
last_seen AS (
  SELECT machine, max(ends) AS seen_to FROM seen GROUP BY machine
),
billed AS (
  SELECT m.machine, m.machine_id, m.account, coalesce(m.pool, '') AS pool, m.gpu_model, m.existed_from, m.existed_to,
    a.billed_to AS account_to, l.seen_to,
    coalesce(b.billed_to >= a.billed_to - 86400, false) AS runs_on,
    CASE
      WHEN b.billed_to IS NULL THEN a.billed_to
      WHEN l.seen_to >= b.billed_to + 86400 THEN b.billed_to
      ELSE greatest(b.billed_to, coalesce(a.billed_to, b.billed_to))
    END AS billed_to
  FROM machines m
  LEFT JOIN machine_bills b ON b.machine = m.machine
  LEFT JOIN account_bills a ON a.account IS NOT DISTINCT FROM m.account
  LEFT JOIN last_seen l ON l.machine = m.machine
),
later AS (
  SELECT b.machine, min(s.starts) AS starts
  FROM billed b JOIN seen s ON s.machine = b.machine AND s.ends > b.billed_to GROUP BY b.machine
),
late AS (
  SELECT b.*,
    CASE WHEN f.machine IS NULL THEN 0
      ELSE greatest(least(b.seen_to, {{log_end}})
        - greatest(b.billed_to, CASE WHEN b.runs_on THEN b.billed_to ELSE f.starts END), 0) END AS seen_seconds,
    CASE WHEN b.existed_to = 253402300800 AND b.account_to <= {{log_end}} - 86400
        AND (b.runs_on OR b.existed_from >= {{month_start}} AND b.seen_to IS NULL)
      THEN greatest({{log_end}} - greatest(b.account_to, b.billed_to, b.existed_from, coalesce(b.seen_to, 0)), 0)
      ELSE 0 END AS listed_seconds
  FROM billed b LEFT JOIN later f ON f.machine = b.machine
  WHERE b.billed_to <= {{log_end}} - 86400
),
rates AS (
  SELECT coalesce(m.pool, '') AS pool, m.gpu_model, c.currency, sum(c.effective) AS effective,
    CAST(sum(least(c.last_second, m.existed_to) - greatest(c.first_second, m.existed_from)) AS BIGINT) AS seconds
  FROM costs c JOIN machines m ON m.machine = c.machine
  WHERE least(c.last_second, m.existed_to) > greatest(c.first_second, m.existed_from)
  GROUP BY coalesce(m.pool, ''), m.gpu_model, c.currency
),
priced AS (
  SELECT t.machine_id, t.account, t.account_to, t.billed_to, t.seen_seconds, t.listed_seconds,
    coalesce(c.currency, r.currency) AS currency, coalesce(c.effective, r.effective) AS effective,
    CASE WHEN c.machine IS NOT NULL THEN least(c.last_second, t.existed_to) - greatest(c.first_second, t.existed_from)
      ELSE r.seconds END AS rated_seconds
  FROM late t
  LEFT JOIN costs c ON c.machine = t.machine
  LEFT JOIN rates r ON c.machine IS NULL AND r.pool = t.pool AND r.gpu_model IS NOT DISTINCT FROM t.gpu_model
  WHERE t.seen_seconds > 0 OR t.listed_seconds > 0
)
SELECT machine_id, account, account_to, billed_to, seen_seconds, listed_seconds, currency,
  CASE WHEN rated_seconds > 0 THEN as_money(integer_part(in_units(effective), seen_seconds, rated_seconds)) END
    AS seen_cost,
  CASE WHEN rated_seconds > 0 THEN as_money(integer_part(in_units(effective), listed_seconds, rated_seconds)) END
    AS listed_cost
FROM priced
