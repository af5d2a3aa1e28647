-- Add up the weights of each pot of several days.
-- In: daily_weight_totals. Out: per target and period the total weight and the heaviest payer and day (ties: the
-- smallest), which gets what does not divide.
SELECT target, period, CAST(sum(total_weight) AS BIGINT) AS total_weight, CAST(sum(payers) AS BIGINT) AS payers,
  rank_number(max(weight_rank(most, heaviest * 65536 + day))) AS heaviest
FROM daily_weight_totals WHERE long
GROUP BY target, period
HAVING sum(total_weight) > 0
