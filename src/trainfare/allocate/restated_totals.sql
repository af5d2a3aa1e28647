-- Compare the bill of a rebuilt closed month with everything that is booked for it.
-- In: rebuilt_totals, booked_totals, month_shares. Out: the differences per source, account, currency, category and
-- rule; a source whose shares moved without a change of its bill has rows without money.
WITH both_sides AS (
  SELECT source, origin, converted_from, billing_account, account, currency, category, charge_category, rule, lines,
    effective, billed, list, contracted
  FROM rebuilt_totals
  UNION ALL
  SELECT source, origin, converted_from, billing_account, account, currency, category, charge_category, rule, 0,
    -effective, -billed, -list, -contracted
  FROM booked_totals
)
SELECT t.source || {{adjusting}} AS source, t.origin, t.converted_from, t.billing_account, t.account, t.currency,
  t.category, t.charge_category, t.rule, CAST(sum(t.lines) AS BIGINT) AS lines,
  coalesce(sum(t.effective), 0) AS effective, coalesce(sum(t.billed), 0) AS billed, coalesce(sum(t.list), 0) AS list,
  coalesce(sum(t.contracted), 0) AS contracted
FROM both_sides t
JOIN (SELECT DISTINCT source, currency FROM month_shares) s
  ON s.source = t.source || {{adjusting}} AND s.currency = t.currency
GROUP BY t.source, t.origin, t.converted_from, t.billing_account, t.account, t.currency, t.category, t.charge_category,
  t.rule
