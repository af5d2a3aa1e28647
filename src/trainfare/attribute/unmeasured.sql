-- In: keyed_charges, keyed_kinds, targets of one weighing, channels, measured_slots. Out: what rules took in pots of which nothing was measured, so that what was held had to be taken.
SELECT ch.rule, ch.currency, sum(c.effective) AS at_stake
FROM keyed_charges c
JOIN keyed_kinds k ON k.kind = c.kind
JOIN channels ch ON ch.channel = k.channel
JOIN targets t ON t.target = k.target AND t.weighing = {{weighing}}
LEFT JOIN measured_slots s ON s.target = k.target AND s.period = period_key(c.period_start, c.period_end)
WHERE s.target IS NULL
GROUP BY ch.rule, ch.currency
