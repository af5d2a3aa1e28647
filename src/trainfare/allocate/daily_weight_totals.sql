-- Add up the weights of each pot per day, including what no job held if the rule keeps idle cost.
-- In: held, days, capacities. Out: per target, period and day the total weight, the number of payers, the heaviest of
-- them (ties: the smallest number) and the idle weight. A pot within one day that no job held is left out: all of its
-- money is idle. A pot of several days has all of them, so that its idle cost falls on each.
WITH held_days AS (
  SELECT target, period, payer_day % 65536 AS day, CAST(sum(weight) AS BIGINT) AS held, count(*) AS payers,
    max({{small}}weight_rank(weight, payer_day // 65536)) AS heaviest
  FROM held GROUP BY target, period, payer_day % 65536
),
wanted AS (
  SELECT target, period, day, held, payers,
    {{small}}rank_weight(heaviest) AS most, {{small}}rank_number(heaviest) AS holder
  FROM held_days
  {{empty_days}}
),
weighted AS (
  SELECT w.*, {{long}} AS long, {{idle_weight}} AS idle
  FROM wanted w
  LEFT JOIN days d ON d.period = w.period AND d.day = w.day
  {{capacity}}
)
SELECT target, period, day, long, held + idle AS total_weight,
  payers + CASE WHEN idle > 0 THEN 1 ELSE 0 END AS payers, greatest(most, idle) AS most,
  CASE WHEN idle > most THEN CAST({{idle}} AS BIGINT) ELSE holder END AS heaviest, idle
FROM weighted
