-- The same thing counted twice: a run under two names, a machine on two bills, a day of an export in two files. At stake: what the copies cost, without labour and licences, which nobody pays twice.
WITH prints AS (
  SELECT attempt_key, min(starts) AS starts, count(*) AS machines,
    sum(CAST(hash(lower(machine_id), starts, ends, gpu_micros) AS HUGEINT)) AS fingerprint
  FROM holdings WHERE NOT running GROUP BY attempt_key
),
alike AS (
  -- Most runs are like no other, and need not be looked at any further.
  SELECT fingerprint, machines, starts FROM prints GROUP BY fingerprint, machines, starts HAVING count(*) > 1
),
runs AS (
  SELECT r.attempt_key, a.job_id, a.attempt, a.state, r.starts, r.machines, r.fingerprint,
    bool_or(m.gpu_micros IS NULL OR 2 * coalesce(h.gpu_micros, m.gpu_micros) > m.gpu_micros) AS fills
  FROM prints r
  JOIN alike l ON l.fingerprint = r.fingerprint AND l.machines = r.machines AND l.starts = r.starts
  JOIN attempts a ON a.attempt_key = r.attempt_key
  JOIN holdings h ON h.attempt_key = r.attempt_key AND NOT h.running
  LEFT JOIN (SELECT holding, min(machine) AS machine FROM placements GROUP BY holding) p ON p.holding = h.holding
  LEFT JOIN machines m ON m.machine = p.machine
  GROUP BY r.attempt_key, a.job_id, a.attempt, a.state, r.starts, r.machines, r.fingerprint
),
twice AS (
  -- Small jobs that begin with a machine and end with it look alike; two that also ended by themselves, or together hold more than there is, are one.
  SELECT *, first_value(job_id) OVER run AS first_name, row_number() OVER run AS place
  FROM runs
  WHERE fills OR state = 'completed'
  WINDOW run AS (PARTITION BY fingerprint, machines, starts ORDER BY job_id, attempt)
),
cost AS (
  SELECT s.payer_key, w.currency, sum(s.effective) AS effective
  FROM kept_shares s JOIN ways w ON w.way = s.way
  WHERE w.category NOT IN ('labour', 'licence') AND s.payer_key IN (SELECT attempt_key FROM twice WHERE place > 1 AND job_id <> first_name)
  GROUP BY s.payer_key, w.currency
),
compute AS (
  SELECT lower(resource_id) AS resource, source, currency, sum(effective) AS effective
  FROM routed_kinds
  WHERE category = 'compute' AND charge_category = 'Usage' AND machine IS NOT NULL AND source NOT LIKE '% adjusting %'
  GROUP BY ALL
)
SELECT 'run ' || t.job_id || ' is ' || t.first_name || ' under another name, from ' || make_timestamp(t.starts * 1000000) AS evidence,
  c.effective AS at_stake, c.currency
FROM twice t LEFT JOIN cost c ON c.payer_key = t.attempt_key
WHERE t.place > 1 AND t.job_id <> t.first_name
UNION ALL
SELECT 'machine ' || resource || ' is on the bills ' || string_agg(source, ', ' ORDER BY source), sum(effective) - max(effective), currency
FROM compute GROUP BY resource, currency HAVING count(*) > 1
UNION ALL
SELECT 'source ' || source || coalesce(', account ' || account, '') || ', ' || day || ': ' || lines || ' lines are in ' || copies || ' files',
  effective * (copies - 1), currency
FROM repeated_days
