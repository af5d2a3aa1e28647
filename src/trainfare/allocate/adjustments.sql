-- List the adjustments of closed months as a book stores shares: kind, payer, machine and day as numbers.
-- In: restated_shares, share_kinds, payers, attempts, machines. Out: shares; they add up to restated_totals exactly.
SELECT k.share_kind, coalesce(p.payer_key, a.attempt_key) AS payer_key, m.machine,
  CAST(epoch_second(CAST(s.day AS TIMESTAMP)) // 86400 AS INTEGER) AS day, s.effective, s.billed, s.list, s.contracted
FROM restated_shares s
JOIN share_kinds k ON k.rule = s.rule AND k.category = s.category AND k.source = s.source AND k.origin = s.origin
  AND k.account IS NOT DISTINCT FROM s.account AND k.currency = s.currency
  AND k.converted_from IS NOT DISTINCT FROM s.converted_from
LEFT JOIN payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer AND p.reason = s.reason
LEFT JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
LEFT JOIN machines m ON m.resource = lower(s.resource_id)
