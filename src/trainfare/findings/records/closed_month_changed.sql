-- Find the closed months whose job log or rules changed, with the money that other payers would pay.
-- In: closed_months.
SELECT month || ': ' || changed AS evidence, moved AS at_stake, currency
FROM closed_months WHERE moved > 0
