-- In: attempts, kept_placements, kept_shares. Out: the attempts that held or paid something in the month.
SELECT a.*
FROM attempts a
WHERE a.attempt_key IN (SELECT attempt_key FROM kept_placements UNION ALL SELECT payer_key FROM kept_shares)
