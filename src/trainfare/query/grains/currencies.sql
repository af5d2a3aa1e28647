-- List the currencies of the bill, each with the way that time is filed under beside money.
-- In: bill_totals, grain_kinds.
WITH named AS (
  SELECT currency FROM bill_totals UNION SELECT currency FROM grain_kinds
),
numbered AS (
  SELECT currency, CAST(row_number() OVER (ORDER BY currency) AS INTEGER) AS number, count(*) OVER () AS currencies
  FROM (SELECT currency FROM named UNION ALL SELECT 'USD' WHERE NOT EXISTS (SELECT 1 FROM named))
)
SELECT n.currency, n.number, n.currencies, coalesce(min(k.way_3) * 8, -n.number) AS time_way
FROM numbered n
LEFT JOIN grain_kinds k ON k.currency = n.currency AND k.is_infrastructure AND NOT k.estimated
GROUP BY n.currency, n.number, n.currencies
