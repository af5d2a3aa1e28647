-- In: routed_kinds. Out: everything that pots are shared within, numbered: one machine for one way of weighing, one
-- cluster, one tag value ...
SELECT CAST(row_number() OVER (ORDER BY weighing, scope) AS INTEGER) AS target, *
FROM (
  SELECT weighing, scope, max(CASE WHEN weighing IN ({{machine_weighings}}) THEN machine END) AS machine,
    min(epoch_second(first_start)) AS first_second, max(epoch_second(last_end)) AS last_second,
    min(shortest) AS shortest, max(longest) AS longest
  FROM routed_kinds
  WHERE weighing IS NOT NULL AND scope IS NOT NULL
  GROUP BY weighing, scope
)
