-- Sum the cost of payers of some kinds per group.
-- In: the selected cost, with the names of the keys joined to it.
-- Out: cost; the part that a rate divides; and the part that is known of days that are not billed in full, too.
SELECT sum(s.{{basis}}) FILTER ({{is_counted}}) AS cost, sum(s.{{basis}}) FILTER (s.{{in_rate}}) AS rate_cost,
  sum(s.{{basis}}) FILTER (s.in_gpu) AS known_cost{{share_keys}}
FROM {{shares}}
WHERE s.payer_kind IN ({{kinds}})
GROUP BY ALL
