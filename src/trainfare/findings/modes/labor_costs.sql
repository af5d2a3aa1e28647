-- Select what each time entry of the month costs, in the currency of the book.
-- In: charges from time sheets; their line is the entry's row number times 10^9.
SELECT delivery, line // 1000000000 AS line, currency, CAST(sum(effective) AS DECIMAL(38,12)) AS effective
FROM charges
WHERE origin = 'labor' AND source NOT LIKE '% adjusting %' AND billing_month(billing_start, billing_end) = {{month}}
GROUP BY delivery, line // 1000000000, currency
