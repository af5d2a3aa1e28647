-- Lines of a type that the reader of the bill does not know.
SELECT 'source ' || source || ': ' || subject || ', ' || sum(lines) || ' lines' AS evidence,
  CAST(abs(sum(found)) AS DECIMAL(38,12)) AS at_stake, currency
FROM bill_checks
WHERE code = 'line_type_unknown' AND billing_month(billing_start, billing_end) = {{month}}
GROUP BY source, subject, currency
HAVING sum(lines) > 0
