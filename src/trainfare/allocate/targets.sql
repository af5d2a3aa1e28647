-- Number everything that pots are split within: one machine, cluster, tag value or the like of one weighing.
-- In: routed_kinds. Out: targets with the time that their charges cover.
SELECT CAST(row_number() OVER (ORDER BY weighing, scope) AS INTEGER) AS target, *
FROM (
  SELECT weighing, scope, max(CASE WHEN weighing IN ({{machine_weighings}}) THEN machine END) AS machine,
    min(epoch_second(first_start)) AS first_second, max(epoch_second(last_end)) AS last_second,
    min(shortest) AS shortest, max(longest) AS longest
  FROM routed_kinds
  WHERE weighing IS NOT NULL AND scope IS NOT NULL
  GROUP BY weighing, scope
)
