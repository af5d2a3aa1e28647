-- In: held, days, capacities. Out: per pot and day what it weighs as a whole, in how many pieces, the heaviest of them and its payer (of equals the first), and what nobody held, if the rule keeps that. A pot within one
-- day that nobody held at all is left out: it needs no weighing, all of its money is idle. One over several days has all of them, so that its idle money falls on each.
WITH held_days AS (
  SELECT target, period, piece % 65536 AS day, CAST(sum(weight) AS BIGINT) AS held, count(*) AS pieces,
    max({{small}}heaviness(weight, piece // 65536)) AS heaviest
  FROM held GROUP BY target, period, piece % 65536
),
wanted AS (
  SELECT target, period, day, held, pieces, {{small}}weight_of(heaviest) AS most, {{small}}number_of(heaviest) AS holder FROM held_days
  {{empty_days}}
),
weighed AS (
  SELECT w.*, {{long}} AS long, {{idle_weight}} AS idle
  FROM wanted w
  LEFT JOIN days d ON d.period = w.period AND d.day = w.day
  {{capacity}}
)
SELECT target, period, day, long, held + idle AS whole, pieces + CASE WHEN idle > 0 THEN 1 ELSE 0 END AS pieces, greatest(most, idle) AS most,
  CASE WHEN idle > most THEN CAST({{idle}} AS BIGINT) ELSE holder END AS heaviest, idle
FROM weighed
