-- In: held, days, capacities. Out: per pot and day what was held, by whom most, and what nobody held, if the rule keeps that. A pot within one day that nobody held at all is left
-- out: it needs no weighing, all of its money is idle. One over several days has all of them, so that its idle money falls on each.
WITH held_days AS (
  SELECT target, period, piece % 65536 AS day, CAST(sum(weight) AS BIGINT) AS held, count(*) AS pieces,
    max(heaviness(weight, piece)) AS heaviest
  FROM held GROUP BY target, period, piece % 65536
),
wanted AS (
  SELECT target, period, day, held, pieces, heaviest FROM held_days
  UNION ALL
  SELECT c.target, d.period, d.day, 0, 0, 0
  FROM (SELECT DISTINCT target FROM capacities) c JOIN days d ON d.long
  WHERE NOT EXISTS (SELECT 1 FROM held_days h WHERE h.target = c.target AND h.period = d.period AND h.day = d.day)
)
SELECT w.target, w.period, w.day, {{long}} AS long, w.held, w.pieces, w.heaviest, {{idle_weight}} AS idle
FROM wanted w
LEFT JOIN days d ON d.period = w.period AND d.day = w.day
{{capacity}}
