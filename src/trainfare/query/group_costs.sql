-- Sum the cost of payers of some kinds per group.
-- In: the selected cost, with the names of the keys joined to it.
SELECT sum(s.{{basis}}) AS cost{{share_keys}}
FROM {{shares}}
WHERE s.payer_kind IN ({{kinds}})
GROUP BY ALL
