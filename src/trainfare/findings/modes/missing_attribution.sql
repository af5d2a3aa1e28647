-- Training cost without a payer, by source, account and reason. At stake: that cost.
SELECT 'source ' || source || coalesce(', account ' || account, '') || ': ' || reason AS evidence,
  sum(effective) AS at_stake, currency
FROM cost_summary
WHERE payer_kind = 'unallocated'
GROUP BY source, account, reason, currency
HAVING sum(effective) <> 0
