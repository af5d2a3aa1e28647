-- Each currency of the month's bill, where there is more than one.
SELECT currency || ' ' || sum(effective) AS evidence, sum(effective) AS at_stake, currency
FROM bill_totals GROUP BY currency
QUALIFY count(*) OVER () > 1
