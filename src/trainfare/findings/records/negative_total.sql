-- Sources with a negative total in the month. At stake: that total.
SELECT 'source ' || source || ' ' || sum(effective) || ' ' || currency AS evidence, sum(effective) AS at_stake, currency
FROM bill_totals GROUP BY source, currency HAVING sum(effective) < 0
