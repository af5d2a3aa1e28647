-- In: keyed_charges, keyed_kinds, channels, slots. Out: the bill's lines added up to pots, with one column per basis and category. piece is who holds the money at first:
-- the pot's heaviest piece, or where nobody weighs in the default payer, on the day the charge begins. whole is null where nothing is left to divide.
-- Lines of channels that nobody weighs in are added up by the day.
WITH gathered AS (
  SELECT k.channel, CASE WHEN k.target IS NULL THEN day_key(c.period_start) ELSE period_key(c.period_start, c.period_end) END AS period,
    {{sums}}
  FROM keyed_charges c
  JOIN keyed_kinds k ON k.kind = c.kind
  GROUP BY k.channel, CASE WHEN k.target IS NULL THEN day_key(c.period_start) ELSE period_key(c.period_start, c.period_end) END
)
SELECT g.channel, c.target, g.period, coalesce(s.heaviest, c.fixed_payer * 65536 + period_day(g.period)) AS piece,
  CASE WHEN s.pieces > 1 THEN s.whole END AS whole, {{columns}}
FROM gathered g
JOIN channels c ON c.channel = g.channel
LEFT JOIN slots s ON s.target = c.target AND s.period = g.period
