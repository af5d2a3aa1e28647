-- In: digest_shares, digest_share_kinds. Out: what each job pays by day and category.
WITH kinds AS (
  SELECT dense_rank() OVER (ORDER BY category, currency) AS kind, share_kind, category, currency FROM digest_share_kinds
),
summed AS (
  SELECT s.job, s.day, k.kind, {{sums}} FROM digest_shares s JOIN kinds k ON k.share_kind = s.share_kind WHERE s.job IS NOT NULL GROUP BY ALL
)
SELECT s.job, DATE '1970-01-01' + s.day AS day, k.category, k.currency, {{bases}}
FROM summed s
JOIN (SELECT DISTINCT kind, category, currency FROM kinds) k ON k.kind = s.kind
ORDER BY s.day, s.job
