-- Sources whose month adds up to less than nothing.
SELECT 'source ' || source || ' ' || sum(effective) || ' ' || currency AS evidence, sum(effective) AS at_stake, currency
FROM bill_totals GROUP BY source, currency HAVING sum(effective) < 0
