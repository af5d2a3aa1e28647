-- Measure what was spent on training in the last 15 minutes, hour, six hours and day for which the bill is complete.
-- In: keyed_charges, kind_routes, routes, categories, rules_in_force. Out: cost per window, currency and category,
-- whoever pays. A charge is spread evenly over its period; of each sum of a period the integer part counts. Lines are
-- filtered by one condition on one of their times and nothing else about time: the engine then skips the parts of a
-- file before it. A charge that starts later, or whose period is empty, overlaps no window.
WITH recent AS (
  SELECT ch.currency, g.category, epoch_second(c.period_start) AS starts, end_second(c.period_start, c.period_end) AS ends,
    CAST(sum(c.effective) AS DECIMAL(38,12)) AS effective, CAST(sum(c.billed) AS DECIMAL(38,12)) AS billed,
    CAST(sum(coalesce(c.list, 0)) AS DECIMAL(38,12)) AS list,
    CAST(sum(coalesce(c.contracted, 0)) AS DECIMAL(38,12)) AS contracted
  FROM keyed_charges c
  JOIN kind_routes k ON k.kind = c.kind
  JOIN routes ch ON ch.route = k.route
  JOIN categories g ON g.number = k.category
  JOIN rules_in_force r ON r.rule = ch.rule
  WHERE c.period_end > {{a_day_before}} AND coalesce(r.goes_to, '') <> '__outside__'
  GROUP BY ch.currency, g.category, epoch_second(c.period_start), end_second(c.period_start, c.period_end)
),
windows AS (
  SELECT unnest([900, 3600, 21600, 86400]) AS window_seconds
),
windowed AS (
  SELECT w.window_seconds, l.*,
    greatest(least(l.ends, {{complete_through}}) - greatest(l.starts, {{complete_through}} - w.window_seconds), 0)
      AS seconds
  FROM recent l, windows w
)
SELECT CAST(window_seconds AS BIGINT) AS window_seconds, currency, category,
  as_money(CAST(sum(integer_part(in_units(effective), seconds, ends - starts)) AS HUGEINT)) AS effective,
  as_money(CAST(sum(integer_part(in_units(billed), seconds, ends - starts)) AS HUGEINT)) AS billed,
  as_money(CAST(sum(integer_part(in_units(list), seconds, ends - starts)) AS HUGEINT)) AS list,
  as_money(CAST(sum(integer_part(in_units(contracted), seconds, ends - starts)) AS HUGEINT)) AS contracted
FROM windowed WHERE seconds > 0
GROUP BY window_seconds, currency, category
