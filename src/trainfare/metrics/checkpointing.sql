-- In: best_intervals, shares. Out: for each job with checkpoints and each currency how it saves its work, the interval that would lose least, and what of its money that would save.
SELECT b.job_id, m.currency, m.spent, b.checkpoints, b.interruptions, b.machines, b.restart_seconds, b.writing_seconds, b.interval_seconds, b.uptime_seconds,
  b.best_seconds, as_money(whole_part(in_units(m.spent), b.saved_millionths, CAST(1000000 AS BIGINT))) AS saving
FROM best_intervals b
JOIN (
  SELECT job_id, currency, CAST(sum(effective) AS DECIMAL(38,12)) AS spent
  FROM shares WHERE job_id IN (SELECT job_id FROM best_intervals) GROUP BY job_id, currency
) m ON m.job_id = b.job_id
