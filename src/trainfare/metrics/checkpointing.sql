-- In: best_intervals, attempts, training_starts, kept_shares, ways. Out: for each job with checkpoints and each currency how it saves its work, the interval that would lose least, and what of its money that would save.
SELECT a.job_id, m.currency, as_money(m.spent) AS spent, b.checkpoints, b.interruptions, b.machines, b.restart_seconds, b.writing_seconds, b.interval_seconds, b.uptime_seconds,
  b.best_seconds, as_money(whole_part(m.spent, b.saved_millionths, CAST(1000000 AS BIGINT))) AS saving
FROM best_intervals b
JOIN (
  SELECT t.job, w.currency, in_units(CAST(sum(s.effective) AS DECIMAL(38,12))) AS spent
  FROM kept_shares s
  JOIN training_starts t ON t.attempt_key = s.payer_key
  JOIN ways w ON w.way = s.way
  GROUP BY t.job, w.currency
) m ON m.job = b.job
JOIN attempts a ON a.attempt_key = b.job
