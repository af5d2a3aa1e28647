-- Lines that are on no invoice yet.
SELECT 'source ' || source || ': ' || subject || ', ' || sum(lines) || ' lines' AS evidence,
  CAST(sum(found) AS DECIMAL(38,12)) AS at_stake, currency
FROM bill_checks
WHERE code = 'bill_not_final' AND billing_month(billing_start, billing_end) = {{month}}
GROUP BY source, subject, currency
HAVING sum(lines) > 0
