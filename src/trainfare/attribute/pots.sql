-- In: keyed_charges, keyed_kinds, channels, slots. Out: the bill's lines added up to pots, in whole units, with one column per basis and category. piece is who holds the money at first:
-- the pot's heaviest piece, or where nobody weighs in the default payer, on the day the charge begins. whole is null where nothing is left to divide.
-- Only what is to be divided must be a pot of its own. Lines of pots with a single piece are added up by that piece, lines of channels that nobody weighs in by
-- the day; both have no period then.
WITH told AS (
  SELECT k.channel, k.target, k.category, CASE WHEN k.target IS NULL THEN day_key(c.period_start) ELSE period_key(c.period_start, c.period_end) END AS period,
    {{units}}
  FROM keyed_charges c
  JOIN keyed_kinds k ON k.kind = c.kind
),
gathered AS (
  -- A key below zero is a piece. Periods begin after 1969, so theirs are not.
  SELECT t.channel, coalesce(-s.heaviest, t.period) AS pot, {{sums}}
  FROM told t
  LEFT JOIN (SELECT target, period, heaviest FROM slots WHERE pieces = 1) s ON s.target = t.target AND s.period = t.period
  GROUP BY t.channel, coalesce(-s.heaviest, t.period)
)
SELECT g.channel, c.target, CASE WHEN s.target IS NOT NULL THEN g.pot END AS period,
  CASE WHEN g.pot < 0 THEN -g.pot ELSE coalesce(s.heaviest, c.fixed_payer * 65536 + period_day(g.pot)) END AS piece,
  s.whole, {{columns}}
FROM gathered g
JOIN channels c ON c.channel = g.channel
LEFT JOIN (SELECT target, period, heaviest, whole FROM slots WHERE pieces > 1) s ON s.target = c.target AND s.period = g.pot
