-- In: digest_shares, digest_share_kinds, digest_payers. Out: what each set of labels, and each payer that is no job, pays by day, category, rule, source, origin and account.
WITH summed AS (
  SELECT "set", CASE WHEN "set" IS NULL THEN payer_key END AS payer_key, share_kind, day, {{sums}} FROM digest_shares GROUP BY ALL
)
SELECT s."set", coalesce(p.payer_kind, 'attempt') AS payer_kind, p.payer, p.reason, DATE '1970-01-01' + s.day AS day, w.category, w.rule, w.source, w.origin,
  w.account, w.currency, {{sums}}
FROM summed s
JOIN digest_share_kinds w ON w.share_kind = s.share_kind
LEFT JOIN digest_payers p ON p.payer_key = s.payer_key
GROUP BY ALL
ORDER BY 5, 1
