-- In: best_intervals, training_starts, paid_days. Out: for each job with checkpoints and each currency how it saves its work, the interval that would lose least, and what of its money that would save.
SELECT b.job_id, m.currency, as_money(m.spent) AS spent, b.checkpoints, b.interruptions, b.machines, b.restart_seconds, b.writing_seconds, b.interval_seconds, b.uptime_seconds,
  b.best_seconds, as_money(whole_part(m.spent, b.saved_millionths, CAST(1000000 AS BIGINT))) AS saving
FROM best_intervals b
JOIN (
  SELECT t.job, p.currency, CAST(sum(p.effective) AS HUGEINT) AS spent
  FROM paid_days p JOIN training_starts t ON t.attempt_key = p.attempt_key GROUP BY t.job, p.currency
) m ON m.job = b.job
