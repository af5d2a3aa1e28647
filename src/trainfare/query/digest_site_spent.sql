-- In: digest_shares, digest_share_kinds, digest_payers. Out: what digest_spent has, by site too.
WITH kinds AS (
  SELECT dense_rank() OVER (ORDER BY category, origin, currency) AS kind, share_kind, category, origin, currency FROM digest_share_kinds
),
summed AS (
  SELECT s."set", CASE WHEN s."set" IS NULL THEN s.payer_key END AS payer_key, k.kind, s.day, s.site, {{sums}}
  FROM digest_shares s JOIN kinds k ON k.share_kind = s.share_kind GROUP BY ALL
)
SELECT s."set", s.site, coalesce(p.payer_kind, 'attempt') AS payer_kind, p.payer, p.reason, DATE '1970-01-01' + s.day AS day, k.category, k.origin, k.currency, {{bases}}
FROM summed s
JOIN (SELECT DISTINCT kind, category, origin, currency FROM kinds) k ON k.kind = s.kind
LEFT JOIN digest_payers p ON p.payer_key = s.payer_key
ORDER BY s.site, s.day
