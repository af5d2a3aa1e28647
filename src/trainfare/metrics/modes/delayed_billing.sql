-- Machines that ran on, and services that are billed every day, in accounts whose bill ends a day or more before the job log does. At stake: that time at the last known rates.
WITH log AS (
  SELECT least({{month_end}}, max(ends)) AS ends FROM kept_placements
),
late AS (
  SELECT k.account, max(epoch_second(k.last_end)) AS billed_to
  FROM routed_kinds k WHERE k.charge_category = 'Usage' AND k.longest <= 86400
  GROUP BY k.account HAVING max(epoch_second(k.last_end)) <= (SELECT ends - 86400 FROM log)
),
held AS (
  SELECT machine, max(ends) AS ends FROM kept_placements WHERE machine IS NOT NULL GROUP BY machine
),
held_by_name AS (
  SELECT lower(unknown_machine) AS name, max(ends) AS ends FROM kept_placements WHERE machine IS NULL GROUP BY lower(unknown_machine)
),
billed AS (
  SELECT k.machine, k.currency, min(epoch_second(k.first_start)) AS first_second, max(epoch_second(k.last_end)) AS last_second, sum(k.effective) AS effective
  FROM routed_kinds k WHERE k.machine IS NOT NULL AND k.longest <= 86400 GROUP BY k.machine, k.currency
),
alive AS (
  SELECT m.machine_id, coalesce(m.pool, '') AS pool, m.gpu_model, m.account, l.billed_to, b.currency, b.effective,
    CASE WHEN b.machine IS NULL THEN 0 ELSE least(b.last_second, m.existed_to) - greatest(b.first_second, m.existed_from) END AS billed_seconds,
    least(CASE WHEN m.listed THEN m.existed_to ELSE greatest(coalesce(h.ends, 0), coalesce(n.ends, 0)) END, g.ends) - greatest(l.billed_to, m.existed_from) AS unbilled_seconds
  FROM machines m JOIN late l ON l.account = m.account CROSS JOIN log g
  LEFT JOIN held h ON h.machine = m.machine
  LEFT JOIN held_by_name n ON n.name = lower(m.machine_id)
  LEFT JOIN billed b ON b.machine = m.machine
),
rates AS (
  SELECT pool, gpu_model, currency, sum(effective) AS effective, CAST(sum(billed_seconds) AS BIGINT) AS seconds
  FROM alive WHERE billed_seconds > 0 GROUP BY pool, gpu_model, currency
),
services AS (
  SELECT k.account, k.service_name, k.currency, sum(k.effective) AS effective, max(l.billed_to) - min(epoch_second(k.first_start)) AS billed_seconds, g.ends - max(l.billed_to) AS unbilled_seconds
  FROM routed_kinds k JOIN late l ON l.account = k.account CROSS JOIN log g
  WHERE k.machine IS NULL AND k.charge_category = 'Usage' AND k.longest <= 86400 AND k.account IN (SELECT account FROM alive WHERE unbilled_seconds > 0)
  GROUP BY k.account, k.service_name, k.currency, g.ends
  HAVING sum(k.lines) >= 5
)
SELECT 'account ' || a.account || ', machine ' || a.machine_id || ': billed through ' || make_timestamp(a.billed_to * 1000000) AS evidence,
  as_money(CASE WHEN a.billed_seconds > 0 THEN whole_part(in_units(a.effective), a.unbilled_seconds, a.billed_seconds)
    ELSE whole_part(in_units(r.effective), a.unbilled_seconds, r.seconds) END) AS at_stake,
  coalesce(a.currency, r.currency) AS currency
FROM alive a LEFT JOIN rates r ON r.pool = a.pool AND r.gpu_model IS NOT DISTINCT FROM a.gpu_model AND r.currency = coalesce(a.currency, r.currency)
WHERE a.unbilled_seconds > 0
UNION ALL
SELECT 'account ' || account || ', ' || coalesce(service_name, 'other services'),
  as_money(whole_part(in_units(effective), unbilled_seconds, billed_seconds)), currency
FROM services WHERE billed_seconds > 0
