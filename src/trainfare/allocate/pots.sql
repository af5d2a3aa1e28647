-- Add up the lines of the bill to pots, in whole units, with one column per basis and category.
-- In: keyed_charges, kind_routes, routes, weight_totals. Out: per pot the payer_day that holds its money at first: the
-- heaviest, or the default payer on the day the charge begins if no one has a weight. total_weight is null where
-- nothing is left to divide. Only what must be divided is a pot of its own: lines of pots with a single payer_day are
-- added up by that, lines of routes without weights by the day; both have no period then.
WITH lines AS (
  SELECT k.route, k.target, k.category,
    CASE WHEN k.target IS NULL THEN day_key(c.period_start) ELSE period_key(c.period_start, c.period_end) END AS period,
    {{units}}
  FROM keyed_charges c
  JOIN kind_routes k ON k.kind = c.kind
),
summed AS (
  -- A key below zero is a payer_day. Periods begin after 1969, so their keys are not below zero.
  SELECT l.route, coalesce(-w.heaviest, l.period) AS pot, {{sums}}
  FROM lines l
  LEFT JOIN (SELECT target, period, heaviest FROM weight_totals WHERE payer_days = 1) w
    ON w.target = l.target AND w.period = l.period
  GROUP BY l.route, coalesce(-w.heaviest, l.period)
)
SELECT s.route, r.target, CASE WHEN w.target IS NOT NULL THEN s.pot END AS period,
  CASE
    WHEN s.pot < 0 THEN -s.pot
    ELSE coalesce(w.heaviest, r.default_payer * 65536 + period_day(s.pot))
  END AS payer_day,
  w.total_weight, {{columns}}
FROM summed s
JOIN routes r ON r.route = s.route
LEFT JOIN (SELECT target, period, heaviest, total_weight FROM weight_totals WHERE payer_days > 1) w
  ON w.target = r.target AND w.period = s.pot
