-- List the shares as the book stores them, with the numbers of job, labels and site, job by job.
-- In: stored_shares, grain_attempts, grain_machines, grain_kinds. Out: cost that no job pays comes last.
SELECT a.job, a.attempt_key, a."set", coalesce(m.site, 1) AS site, s.machine, DATE '1970-01-01' + s.day AS day,
  k.way_1 AS way, k.way_2, k.way_3, CASE WHEN a.job IS NULL THEN s.payer_key END AS payer_number, {{bases}}
FROM stored_shares s
JOIN grain_kinds k ON k.share_kind = s.share_kind
LEFT JOIN grain_attempts a ON a.attempt_key = s.payer_key
LEFT JOIN grain_machines m ON m.machine = s.machine
ORDER BY a.job NULLS LAST
