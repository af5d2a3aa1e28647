-- In: held, days, capacities. Out: per pot and day what was held, the most that one payer held and who (of equals the first), and what nobody held, if the rule keeps that. A pot within one
-- day that nobody held at all is left out: it needs no weighing, all of its money is idle. One over several days has all of them, so that its idle money falls on each.
WITH held_days AS (
  SELECT target, period, piece % 65536 AS day, CAST(sum(weight) AS BIGINT) AS held, count(*) AS pieces,
    max({{small}}heaviness(weight, piece // 65536)) AS heaviest
  FROM held GROUP BY target, period, piece % 65536
),
wanted AS (
  SELECT target, period, day, held, pieces, {{small}}weight_of(heaviest) AS most, {{small}}number_of(heaviest) AS holder FROM held_days
  {{empty_days}}
)
SELECT w.target, w.period, w.day, {{long}} AS long, w.held, w.pieces, w.most, w.holder, {{idle_weight}} AS idle
FROM wanted w
LEFT JOIN days d ON d.period = w.period AND d.day = w.day
{{capacity}}
