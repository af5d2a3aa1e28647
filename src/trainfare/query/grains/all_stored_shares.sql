-- List the shares of a book, and those that other books have for its days.
-- In: stored_shares, foreign_shares, and the names of all of them: share_kinds, stored_payers, book_attempts,
-- book_machines.
SELECT s.share_kind, s.payer_key, s.machine, s.day, {{bases}} FROM stored_shares s
UNION ALL
SELECT k.share_kind, coalesce(p.payer_key, a.attempt_key), m.machine, CAST(s.day - DATE '1970-01-01' AS INTEGER),
  {{bases}}
FROM foreign_shares s
JOIN share_kinds k ON k.is_foreign AND k.rule = s.rule AND k.category = s.category AND k.source = s.source
  AND k.origin IS NOT DISTINCT FROM s.origin AND k.account IS NOT DISTINCT FROM s.account AND k.currency = s.currency
  AND k.converted_from IS NOT DISTINCT FROM s.converted_from
LEFT JOIN stored_payers p ON s.payer_kind <> 'attempt' AND p.payer_kind = s.payer_kind AND p.payer = s.payer
  AND p.reason IS NOT DISTINCT FROM s.reason
LEFT JOIN book_attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
LEFT JOIN book_machines m ON lower(m.resource_id) = lower(s.resource_id)
