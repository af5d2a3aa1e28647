-- List the payers of a book that are not attempts, and those that only other books have shares of for its days.
-- In: stored_payers, foreign_shares, book_attempts. Out: new numbers come after those of attempts and payers.
SELECT payer_key, payer_kind, payer, reason FROM stored_payers
UNION ALL
SELECT CAST(n.last + row_number() OVER (ORDER BY s.payer_kind, s.payer, s.reason) AS INTEGER), s.payer_kind, s.payer,
  s.reason
FROM (SELECT DISTINCT payer_kind, payer, reason FROM foreign_shares WHERE payer_kind <> 'attempt') s
LEFT JOIN stored_payers p ON p.payer_kind = s.payer_kind AND p.payer = s.payer
  AND p.reason IS NOT DISTINCT FROM s.reason
CROSS JOIN (SELECT max(number) AS last FROM (
  SELECT max(payer_key) AS number FROM stored_payers UNION ALL SELECT coalesce(max(attempt_key), 0) FROM book_attempts
)) n
WHERE p.payer_key IS NULL
