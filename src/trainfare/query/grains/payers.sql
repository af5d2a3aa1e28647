-- List the payers that are not attempts.
-- In: stored_payers.
SELECT payer_key AS payer_number, payer_kind, payer, reason FROM stored_payers
