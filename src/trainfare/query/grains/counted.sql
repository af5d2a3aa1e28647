-- List the shares as the book stores them, with the numbers of job, labels, site and machine name.
-- In: stored_shares, grain_attempts, grain_payers, grain_machines, grain_kinds.
-- Out: cost that no job pays has a payer instead.
SELECT a.job, a.attempt_key, a."set", coalesce(m.site, 1) AS site, coalesce(m.named, 0) AS named, s.machine,
  DATE '1970-01-01' + s.day AS day, k.way_1 AS way, k.way_2, k.way_3, CAST(NULL AS INTEGER) AS payer_number, {{bases}}
FROM stored_shares s
JOIN grain_kinds k ON k.share_kind = s.share_kind
JOIN grain_attempts a ON a.attempt_key = s.payer_key
LEFT JOIN grain_machines m ON m.machine = s.machine
UNION ALL
SELECT NULL, NULL, NULL, coalesce(m.site, 1), coalesce(m.named, 0), s.machine, DATE '1970-01-01' + s.day, k.way_1,
  k.way_2, k.way_3, s.payer_key, {{bases}}
FROM stored_shares s
JOIN grain_kinds k ON k.share_kind = s.share_kind
JOIN grain_payers p ON p.payer_number = s.payer_key
LEFT JOIN grain_machines m ON m.machine = s.machine
