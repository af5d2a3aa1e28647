-- In: charges, from several files. Out: days of an account of which two files have as many lines with the same sum.
SELECT source, account, currency, day, lines, effective
FROM (
  SELECT delivery, source, account, currency, CAST(period_start AS DATE) AS day, count(*) AS lines, sum(effective) AS effective
  FROM charges
  WHERE billing_month(billing_start, billing_end) = {{month}} AND source NOT LIKE '% adjusting %'
  GROUP BY ALL
)
GROUP BY ALL HAVING count(*) > 1
