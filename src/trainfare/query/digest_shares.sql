-- In: stored_shares, digest_attempts, digest_machines, digest_sites. Out: the shares as the book keeps them, with the site of their machine, those of one job beside each other; what no job pays
-- comes last.
SELECT a.job, a."set", s.share_kind, s.payer_key, s.machine, coalesce(m.site, 1) AS site, s.day, s.effective, s.billed, s.list, s.contracted
FROM stored_shares s
LEFT JOIN digest_attempts a ON a.attempt_key = s.payer_key
LEFT JOIN {{machine_sites}} m ON m.machine = s.machine
ORDER BY a.job NULLS LAST
