-- Advise each job with checkpoints on its interval, with the money that would save.
-- In: best_intervals, attempts, training_starts, stored_shares, share_kinds. Out: one row per job and currency.
SELECT a.job_id, m.currency, as_money(m.spent) AS spent, b.checkpoints, b.interruptions, b.machines, b.restart_seconds,
  b.writing_seconds, b.interval_seconds, b.uptime_seconds, b.best_seconds,
  as_money(integer_part(m.spent, b.saved_millionths, CAST(1000000 AS BIGINT))) AS saving
FROM best_intervals b
JOIN (
  SELECT t.job, w.currency, in_units(CAST(sum(s.effective) AS DECIMAL(38,12))) AS spent
  FROM stored_shares s
  JOIN training_starts t ON t.attempt_key = s.payer_key
  JOIN share_kinds w ON w.share_kind = s.share_kind
  GROUP BY t.job, w.currency
) m ON m.job = b.job
JOIN attempts a ON a.attempt_key = b.job
