-- Select the exported days whose lines are identical in two or more files, in whatever order.
-- In: charges, exported_days. Out: one row per file and day, with the first of the files that have these lines, and the
-- number of them.
WITH files AS (
  SELECT c.delivery, min(c.source) AS source, c.account, c.currency, d.day, d.lines, d.effective,
    sum(CAST(hash(c.period_start, c.period_end, c.resource_id, c.sku_id, c.description, c.tags, c.effective, c.billed)
      AS HUGEINT)) AS fingerprint,
    count(*) AS counted, sum(c.effective) AS summed
  FROM charges c
  JOIN exported_days d ON d.account IS NOT DISTINCT FROM c.account AND d.currency = c.currency
    AND d.day = CAST(c.period_start AS DATE)
  WHERE billing_month(c.billing_start, c.billing_end) = {{month}} AND c.source NOT LIKE '% adjusting %'
    AND c.origin NOT IN ('labor', 'estimate')
  GROUP BY c.delivery, c.account, c.currency, d.day, d.lines, d.effective
),
ranked AS (
  SELECT delivery, source, account, currency, day, lines, effective,
    min(delivery) OVER (PARTITION BY account, currency, day, lines, effective, fingerprint) AS first_delivery,
    count(*) OVER (PARTITION BY account, currency, day, lines, effective, fingerprint) AS copies
  FROM files WHERE counted = lines AND summed = effective
)
SELECT delivery, source, account, currency, day, lines, effective, first_delivery, CAST(copies AS INTEGER) AS copies
FROM ranked WHERE copies > 1
