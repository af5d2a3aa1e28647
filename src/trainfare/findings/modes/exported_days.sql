-- Find the days of an account for which two files have the same number of lines and the same total.
-- In: charges, from several files. Time entries of one role look alike, so they are left to the check of labor.
SELECT account, currency, day, lines, effective
FROM (
  SELECT delivery, account, currency, CAST(period_start AS DATE) AS day, count(*) AS lines, sum(effective) AS effective
  FROM charges
  WHERE billing_month(billing_start, billing_end) = {{month}} AND source NOT LIKE '% adjusting %'
    AND origin NOT IN ('labor', 'estimate')
  GROUP BY delivery, account, currency, CAST(period_start AS DATE)
)
GROUP BY account, currency, day, lines, effective HAVING count(*) > 1
