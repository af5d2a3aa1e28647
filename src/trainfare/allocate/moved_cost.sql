-- Add up what payers of a rebuilt closed month would pay more than is booked for them.
-- In: rebuilt_shares, booked_shares, month_shares. Out: one amount per currency.
SELECT currency, sum(effective) AS moved
FROM (
  SELECT payer, currency, sum(effective) AS effective
  FROM (
    SELECT payer, currency, effective FROM rebuilt_shares
    UNION ALL SELECT payer, currency, -effective FROM booked_shares
    UNION ALL SELECT payer, currency, -effective FROM month_shares
  )
  GROUP BY payer, currency
)
WHERE effective > 0
GROUP BY currency
