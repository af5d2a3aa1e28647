-- In: keyed_charges, keyed_kinds, channels, categories, rules_in_force. Out: what was spent on training, whoever pays, in the last quarter of an hour, hour, six hours and day that the bill is complete for. A charge is spread
-- evenly over its period; of each sum of a period the whole part counts. Lines are asked one thing about one of their times, and nothing else about time: the engine then skips
-- the parts of a file that lie before. What begins later, or is for no time, meets no window.
WITH late AS (
  SELECT ch.currency, g.category, epoch_second(c.period_start) AS starts, epoch_second(c.period_end) AS ends,
    CAST(sum(c.effective) AS DECIMAL(38,12)) AS effective, CAST(sum(c.billed) AS DECIMAL(38,12)) AS billed,
    CAST(sum(coalesce(c.list, 0)) AS DECIMAL(38,12)) AS list, CAST(sum(coalesce(c.contracted, 0)) AS DECIMAL(38,12)) AS contracted
  FROM keyed_charges c
  JOIN keyed_kinds k ON k.kind = c.kind
  JOIN channels ch ON ch.channel = k.channel
  JOIN categories g ON g.number = k.category
  JOIN rules_in_force r ON r.rule = ch.rule
  WHERE c.period_end > {{a_day_before}} AND coalesce(r.goes_to, '') <> '__outside__'
  GROUP BY ch.currency, g.category, epoch_second(c.period_start), epoch_second(c.period_end)
),
windows AS (
  SELECT unnest([900, 3600, 21600, 86400]) AS window_seconds
),
met AS (
  SELECT w.window_seconds, l.*, greatest(least(l.ends, {{complete_through}}) - greatest(l.starts, {{complete_through}} - w.window_seconds), 0) AS seconds
  FROM late l, windows w
)
SELECT CAST(window_seconds AS BIGINT) AS window_seconds, currency, category,
  as_money(CAST(sum(whole_part(in_units(effective), seconds, ends - starts)) AS HUGEINT)) AS effective,
  as_money(CAST(sum(whole_part(in_units(billed), seconds, ends - starts)) AS HUGEINT)) AS billed,
  as_money(CAST(sum(whole_part(in_units(list), seconds, ends - starts)) AS HUGEINT)) AS list,
  as_money(CAST(sum(whole_part(in_units(contracted), seconds, ends - starts)) AS HUGEINT)) AS contracted
FROM met WHERE seconds > 0
GROUP BY window_seconds, currency, category
