-- In: digest_costs. Out: the same by day, category and origin alone: far fewer rows, and most questions ask for no more.
SELECT "set", payer_kind, payer, reason, day, category, origin, currency, {{sums}}
FROM digest_costs
GROUP BY ALL
ORDER BY day, "set"
