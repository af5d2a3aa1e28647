-- The same item counted twice: a run in two job logs, a machine on two bills, a day of an export in two files.
-- At stake: what the copies cost; of runs without labor and licenses, which are never paid twice.
WITH run_costs AS (
  SELECT s.payer_key, w.currency, sum(s.effective) AS effective
  FROM stored_shares s JOIN share_kinds w ON w.share_kind = s.share_kind
  WHERE w.category NOT IN ('labor', 'license') AND s.payer_key IN (SELECT attempt_key FROM duplicate_runs)
  GROUP BY s.payer_key, w.currency
)
SELECT 'run ' || d.job_id || ' is ' || d.first_name || ' under another name, from '
    || make_timestamp(d.starts * 1000000) AS evidence,
  c.effective AS at_stake, c.currency
FROM duplicate_runs d JOIN run_costs c ON c.payer_key = d.attempt_key
UNION ALL
SELECT 'machine ' || machine_id || ' is on the bills ' || sources, effective, currency FROM machines_on_two_bills
UNION ALL
SELECT 'source ' || min(source) || CASE WHEN min(source) < max(source) THEN ' and ' || max(source) ELSE '' END
    || coalesce(', account ' || account, '') || ', ' || day || ': ' || lines
    || CASE WHEN lines = 1 THEN ' line is in ' ELSE ' lines are in ' END || copies || ' files',
  effective * (copies - 1), currency
FROM repeated_days GROUP BY account, currency, day, lines, effective, first_delivery, copies
