-- Sums of one billing period, over all of its files, that must be equal by the provider's own rules and differ.
SELECT 'source ' || source || ': ' || subject || ', ' || CAST(sum(found) AS DECIMAL(38,12)) || ' where ' || CAST(sum(stated) AS DECIMAL(38,12)) || ' is stated' AS evidence,
  CAST(abs(sum(found) - sum(stated)) AS DECIMAL(38,12)) AS at_stake, currency
FROM bill_checks
WHERE code = 'bill_does_not_add_up' AND billing_month(billing_start, billing_end) = {{month}}
GROUP BY source, subject, currency
HAVING sum(found) <> sum(stated)
