-- In: charges, exported_days. Out: those of these days whose lines are the same in two or more files, whatever order they stand in.
SELECT source, account, currency, day, lines, effective, CAST(count(*) AS INTEGER) AS copies
FROM (
  SELECT c.delivery, c.source, c.account, c.currency, d.day, d.lines, d.effective,
    sum(CAST(hash(c.period_start, c.period_end, c.resource_id, c.sku_id, c.description, c.tags, c.effective, c.billed) AS HUGEINT)) AS fingerprint,
    count(*) AS counted, sum(c.effective) AS summed
  FROM charges c
  JOIN exported_days d ON d.source = c.source AND d.account IS NOT DISTINCT FROM c.account AND d.currency = c.currency
    AND d.day = CAST(c.period_start AS DATE)
  WHERE billing_month(c.billing_start, c.billing_end) = {{month}}
  GROUP BY c.delivery, c.source, c.account, c.currency, d.day, d.lines, d.effective
)
WHERE counted = lines AND summed = effective
GROUP BY source, account, currency, day, lines, effective, fingerprint
HAVING count(*) > 1
