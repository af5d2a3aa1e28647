-- In: special_payers, fixed_parts. Out: everyone who pays and is not an attempt, numbered above all of these.
SELECT CAST({{first_special}} + row_number() OVER (ORDER BY payer_kind, payer, reason) AS INTEGER) AS payer_key, payer_kind, payer, reason
FROM (
  SELECT payer_kind, payer, reason FROM special_payers
  UNION
  SELECT CASE payer WHEN '__idle__' THEN 'idle' WHEN '__outside__' THEN 'outside' WHEN '__unallocated__' THEN 'unallocated' ELSE 'label' END,
    payer, 'fixed part'
  FROM fixed_parts
)
