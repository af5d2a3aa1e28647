-- In: digest_costs, digest_sets. Out: what payers of these kinds pay per group.
SELECT sum(s.{{basis}}) AS cost{{share_keys}}
FROM digest_costs s
LEFT JOIN digest_sets a ON a.book = s.book AND a."set" = s."set"
WHERE s.payer_kind IN ({{kinds}}) AND {{where}} AND {{only_shares}}
GROUP BY ALL
