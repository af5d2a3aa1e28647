-- Cost of training for which no payer was found, by account, category and reason. At stake: that cost.
SELECT 'source ' || source || coalesce(', account ' || account, '') || ': ' || reason AS evidence,
  sum(effective) AS at_stake, currency
FROM spent
WHERE payer_kind = 'unallocated'
GROUP BY source, account, reason, currency
HAVING sum(effective) <> 0
