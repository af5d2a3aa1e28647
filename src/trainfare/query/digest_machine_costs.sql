-- In: digest_shares, digest_share_kinds, digest_payers. Out: what each machine costs by day and who pays it.
SELECT s.machine, DATE '1970-01-01' + s.day AS day, coalesce(p.payer_kind, 'attempt') AS payer_kind, w.currency, {{sums}}, {{infra_sums}}, {{estimated_sums}}
FROM digest_shares s
JOIN digest_share_kinds w ON w.share_kind = s.share_kind
LEFT JOIN digest_payers p ON p.payer_key = s.payer_key
WHERE s.machine IS NOT NULL
GROUP BY ALL
ORDER BY 1, 2
