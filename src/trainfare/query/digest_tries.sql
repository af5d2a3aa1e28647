-- In: digest_attempts, digest_placements, digest_shares, digest_share_kinds, digest_jobs. Out: each attempt that held anything, per currency: how long it ran, what it held and cost, and
-- of its job the last attempt, the days, and the site if it is on one.
WITH ran AS (
  SELECT attempt_key, max(ends) - min(starts) AS seconds, sum(CAST(ends - starts AS HUGEINT) * gpu_micros) * 0.000001 AS gpu_seconds
  FROM digest_placements GROUP BY attempt_key
),
paid AS (
  SELECT s.payer_key, w.currency, {{sums}}, {{infra_sums}}, {{estimated_sums}}
  FROM digest_shares s JOIN digest_share_kinds w ON w.share_kind = s.share_kind WHERE s.job IS NOT NULL GROUP BY ALL
)
SELECT a.job, a.attempt, a."set", a.state, max(a.attempt) OVER (PARTITION BY a.job, j.currency) AS last, j.site, j.first_day, j.last_day, r.seconds, r.gpu_seconds, j.currency, {{costs}}, {{estimated_of_costs}}
FROM ran r
JOIN digest_attempts a ON a.attempt_key = r.attempt_key
JOIN digest_jobs j ON j.job = a.job
LEFT JOIN paid c ON c.payer_key = r.attempt_key AND c.currency = j.currency
ORDER BY a.job, a.attempt
