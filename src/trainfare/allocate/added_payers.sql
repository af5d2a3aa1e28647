-- Number the payers, other than attempts, that only adjustments of closed months name, after all others.
-- In: restated_shares, payers. Out: rows like those of payers.
SELECT CAST(n.last + row_number() OVER (ORDER BY s.payer_kind, s.payer, s.reason) AS INTEGER) AS payer_key,
  s.payer_kind, s.payer, s.reason
FROM (SELECT DISTINCT payer_kind, payer, reason FROM restated_shares WHERE payer_kind <> 'attempt') s
LEFT JOIN payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer AND p.reason = s.reason
CROSS JOIN (SELECT coalesce(max(payer_key), {{first_special}}) AS last FROM payers) n
WHERE p.payer_key IS NULL
