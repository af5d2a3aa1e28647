-- The currencies of the month's bill, if there is more than one. At stake: the cost in each.
SELECT currency || ' ' || sum(effective) AS evidence, sum(effective) AS at_stake, currency
FROM bill_totals GROUP BY currency
QUALIFY count(*) OVER () > 1
