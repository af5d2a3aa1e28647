-- Add up the pots that a rule splits by a measurement although nothing was measured, so that they are split by holding.
-- In: keyed_charges, kind_routes, targets of one weighing, routes, measured_periods. Out: cost per rule and currency.
SELECT r.rule, r.currency, sum(c.effective) AS at_stake
FROM keyed_charges c
JOIN kind_routes k ON k.kind = c.kind
JOIN routes r ON r.route = k.route
JOIN targets t ON t.target = k.target AND t.weighing = {{weighing}}
LEFT JOIN measured_periods s ON s.target = k.target AND s.period = period_key(c.period_start, c.period_end)
WHERE s.target IS NULL
GROUP BY r.rule, r.currency
