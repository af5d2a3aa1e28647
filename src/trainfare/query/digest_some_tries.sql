-- In: digest_tries, digest_jobs, digest_sites, digest_sets, digest_placements, digest_shares, digest_share_kinds, digest_attempts. Out: each attempt that held anything on the sites and days asked about,
-- with what it held and cost there. One of a job within these days and on one of these sites is there as it is; those of other jobs are counted again from their placements and shares.
WITH chosen AS (
  SELECT m.site FROM digest_sites m WHERE {{only_sites}}
),
counted AS MATERIALIZED (
  SELECT j.job FROM digest_jobs j
  WHERE j.currency = {{currency}} AND j.first_day < {{last}} AND j.last_day >= {{first}} AND {{in_sets}}
    AND (j.first_day < {{first}} OR j.last_day >= {{last}} OR (j.site IS NULL AND {{by_site}}))
),
ran AS (
  SELECT p.attempt_key, max(p.ends) - min(p.starts) AS seconds, sum(CAST(p.ends - p.starts AS HUGEINT) * p.gpu_micros) * 0.000001 AS gpu_seconds
  FROM (
    SELECT * REPLACE (greatest(starts, {{first_second}}) AS starts, least(ends, {{last_second}}) AS ends) FROM digest_placements
    WHERE starts < {{last_second}} AND ends > {{first_second}}
  ) p
  JOIN counted x ON x.job = p.job JOIN chosen c ON c.site = p.site
  GROUP BY p.attempt_key
),
paid AS (
  SELECT s.payer_key, sum(s.{{basis}}) AS cost, sum(s.{{basis}}) FILTER (s.origin = 'estimate') AS estimated
  FROM (
    SELECT p.payer_key, DATE '1970-01-01' + p.day AS day, w.category, w.currency, w.origin, p.{{basis}}
    FROM digest_shares p JOIN counted x ON x.job = p.job JOIN chosen c ON c.site = p.site JOIN digest_share_kinds w ON w.share_kind = p.share_kind
  ) s
  WHERE {{money_in_days}} GROUP BY s.payer_key
)
SELECT j.book, j.job, j.attempt, j."set", j.state, j.last, j.seconds, j.gpu_seconds, j.{{cost}} AS cost, j.estimated_{{basis}} AS estimated
FROM digest_tries j
WHERE j.currency = {{currency}} AND j.first_day >= {{first}} AND j.last_day < {{last}} AND {{in_sets}} AND (NOT {{by_site}} OR j.site IN (SELECT site FROM chosen))
UNION ALL
SELECT a.book, a.job, a.attempt, a."set", a.state, max(a.attempt) OVER (PARTITION BY a.job), r.seconds, r.gpu_seconds, p.cost, p.estimated
FROM ran r
JOIN digest_attempts a ON a.attempt_key = r.attempt_key
LEFT JOIN paid p ON p.payer_key = r.attempt_key
