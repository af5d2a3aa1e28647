-- Number every payer that is not an attempt, above all attempts.
-- In: special_payers, fixed_parts. Out: payers with kind, name and reason.
SELECT CAST({{first_special}} + row_number() OVER (ORDER BY payer_kind, payer, reason) AS INTEGER) AS payer_key,
  payer_kind, payer, reason
FROM (
  SELECT payer_kind, payer, reason FROM special_payers
  UNION
  SELECT
    CASE payer
      WHEN '__idle__' THEN 'idle'
      WHEN '__outside__' THEN 'outside'
      WHEN '__unallocated__' THEN 'unallocated'
      ELSE 'label'
    END,
    payer, 'fixed part'
  FROM fixed_parts
)
