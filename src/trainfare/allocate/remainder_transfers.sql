-- Transfer every other payer's part of a pot from its heaviest payer, which holds the whole pot and keeps the
-- remainder.
-- In: pots, weights. Out: per route and pair of payer days the integer part of pot * weight / total weight, one column
-- per basis and category. Each amount leaves one payer and reaches another, so nothing is lost or created.
SELECT p.route, p.payer_day AS from_payer_day, w.payer_day AS to_payer_day,
  {{parts}}
FROM pots p
JOIN weights w ON w.target = p.target AND w.period = p.period AND w.payer_day <> p.payer_day
WHERE p.total_weight IS NOT NULL
GROUP BY p.route, p.payer_day, w.payer_day
