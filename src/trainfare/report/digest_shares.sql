-- In: kept_shares, digest_attempts. Out: the shares as the book keeps them, those of one job beside each other; what no job pays comes last.
SELECT a.job, a."set", s.way, s.payer_key, s.machine, s.day, s.effective, s.billed, s.list, s.contracted
FROM kept_shares s
LEFT JOIN digest_attempts a ON a.attempt_key = s.payer_key
ORDER BY a.job NULLS LAST
