-- In: digest_attempts, digest_job_costs, digest_hours, digest_placements, digest_shares, digest_share_kinds, bill_totals. Out: one row per job and currency of the bill: labels, times, hours,
-- the days of both, the site if all of it is on one, costs, what of them is estimated, and rates, highest cost first.
WITH named AS (
  SELECT job, any_value(job_id) AS job_id, min("set") AS "set", CAST(count(*) AS INTEGER) AS attempts, arg_max(state, attempt) AS state,
    CAST(count(*) FILTER (state = 'preempted') AS INTEGER) AS preemptions
  FROM digest_attempts GROUP BY job
),
held AS (
  SELECT job, min(starts) AS starts, max(ends) AS ends, bool_or(running) AS running,
    CAST(count(DISTINCT machine) + count(DISTINCT unknown_machine) AS INTEGER) AS machines
  FROM digest_placements GROUP BY job
),
hours AS (
  SELECT job, CAST(sum(wall) AS BIGINT) AS wall, CAST(sum(billed_wall) AS BIGINT) AS billed_wall, CAST(sum(gpu) AS HUGEINT) AS gpu,
    CAST(sum(billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(gpu_unknown) AS gpu_unknown
  FROM digest_hours GROUP BY job
),
expected AS (
  SELECT s.job, w.currency, {{sums}} FROM digest_shares s JOIN digest_share_kinds w ON w.share_kind = s.share_kind WHERE w.origin = 'estimate' AND s.job IS NOT NULL GROUP BY s.job, w.currency
),
day_span AS (
  SELECT job, min(day) AS first_day, max(day) AS last_day
  FROM (
    SELECT job, day FROM digest_hours UNION ALL SELECT job, day FROM digest_job_costs
    UNION ALL SELECT job, DATE '1970-01-01' + CAST(starts // 86400 AS INTEGER) FROM digest_placements
    UNION ALL SELECT job, DATE '1970-01-01' + CAST(greatest(ends - 1, starts) // 86400 AS INTEGER) FROM digest_placements
  )
  GROUP BY job
),
sited AS (
  SELECT job, CASE WHEN min(site) = max(site) THEN min(site) END AS site
  FROM (SELECT job, site FROM digest_placements UNION ALL SELECT job, site FROM digest_shares WHERE job IS NOT NULL) GROUP BY job
),
costs AS (
  SELECT job, currency, {{sums}}, {{infra_sums}} FROM digest_job_costs GROUP BY job, currency
)
SELECT n.job, n.job_id, n."set", n.attempts, n.state, n.preemptions, h.starts, h.ends, h.running, h.machines, o.site, d.first_day, d.last_day,
  t.wall, t.billed_wall, t.gpu, t.billed_gpu, t.gpu_unknown, b.currency, {{costs}}, {{rates}}, {{estimated}}
FROM named n
CROSS JOIN (SELECT DISTINCT currency FROM bill_totals) b
LEFT JOIN held h ON h.job = n.job
LEFT JOIN hours t ON t.job = n.job
LEFT JOIN sited o ON o.job = n.job
LEFT JOIN day_span d ON d.job = n.job
LEFT JOIN costs c ON c.job = n.job AND c.currency = b.currency
LEFT JOIN expected e ON e.job = n.job AND e.currency = b.currency
ORDER BY c.effective DESC NULLS LAST, n.job
