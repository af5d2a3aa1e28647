-- Find every source and currency whose shares do not add up to its charges, digit for digit.
-- In: charge_kinds, adjustment_totals, share_kind_totals, share_kinds. Out: rows that must not exist.
WITH charged AS (
  SELECT source, currency, sum(effective) AS effective, sum(billed) AS billed, sum(list) AS list,
    sum(contracted) AS contracted
  FROM (
    SELECT source, currency, effective, billed, list, contracted FROM charge_kinds WHERE month = {{month}}
    UNION ALL
    SELECT source, currency, effective, billed, list, contracted FROM adjustment_totals
  )
  GROUP BY source, currency
),
shared AS (
  SELECT k.source, k.currency, sum(s.effective) AS effective, sum(s.billed) AS billed, sum(s.list) AS list,
    sum(s.contracted) AS contracted
  FROM share_kind_totals s
  LEFT JOIN share_kinds k ON k.share_kind = s.share_kind
  GROUP BY k.source, k.currency
)
SELECT coalesce(c.source, s.source) AS source, coalesce(c.currency, s.currency) AS currency,
  c.effective, s.effective AS shared_effective, c.billed, s.billed AS shared_billed,
  c.list, s.list AS shared_list, c.contracted, s.contracted AS shared_contracted
FROM charged c
FULL JOIN shared s ON s.source = c.source AND s.currency = c.currency
WHERE c.effective IS DISTINCT FROM s.effective OR c.billed IS DISTINCT FROM s.billed
  OR c.list IS DISTINCT FROM s.list OR c.contracted IS DISTINCT FROM s.contracted
