-- In: digest_spent, or digest_costs or digest_site_spent where a key needs that, digest_sets, and digest_sites. Out: what payers of these kinds pay per group.
SELECT sum(s.{{basis}}) AS cost{{share_keys}}
FROM {{money}} s
LEFT JOIN digest_sets a ON a.book = s.book AND a."set" = s."set"{{share_sites}}
WHERE s.payer_kind IN ({{kinds}}) AND {{where}} AND {{only_shares}}
GROUP BY ALL
