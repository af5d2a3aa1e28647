-- Select the attempts that held or paid for something in the month.
-- In: attempts, stored_placements, stored_shares.
SELECT a.*
FROM attempts a
WHERE a.attempt_key IN (SELECT attempt_key FROM stored_placements UNION ALL SELECT payer_key FROM stored_shares)
