-- In: attempts, special_payers, fixed_parts. Out: everyone who pays, numbered: attempts by their own number, the others above them.
SELECT attempt_key AS payer_key, 'attempt' AS payer_kind, job_id || '#' || attempt AS payer, CAST(NULL AS VARCHAR) AS reason,
  job_id, attempt
FROM attempts
UNION ALL
SELECT CAST({{first_special}} + row_number() OVER (ORDER BY payer_kind, payer, reason) AS INTEGER), payer_kind, payer, reason, NULL, NULL
FROM (
  SELECT payer_kind, payer, reason FROM special_payers
  UNION
  SELECT CASE payer WHEN '__idle__' THEN 'idle' WHEN '__outside__' THEN 'outside' WHEN '__unallocated__' THEN 'unallocated' ELSE 'label' END,
    payer, 'fixed part'
  FROM fixed_parts
)
