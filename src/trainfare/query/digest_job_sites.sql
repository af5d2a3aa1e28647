-- In: digest_jobs, digest_placements, digest_shares, digest_share_kinds; the hours of each job per site, as a query. Out: of each job that held or paid anything on several sites what that was on each
-- of them, per currency of the bill, beside the hours of the whole job.
WITH several AS (
  SELECT job, "set", first_day, last_day, currency, wall, billed_wall FROM digest_jobs WHERE site IS NULL
),
hours AS ({{site_hours}}),
placed AS (
  SELECT job, site, min(starts) AS starts, max(ends) AS ends, CAST(count(DISTINCT machine) + count(DISTINCT unknown_machine) AS INTEGER) AS machines
  FROM digest_placements WHERE job IN (SELECT job FROM several) GROUP BY job, site
),
costs AS (
  SELECT s.job, s.site, w.currency, {{sums}}, {{infra_sums}}, {{estimated_sums}}
  FROM digest_shares s JOIN digest_share_kinds w ON w.share_kind = s.share_kind WHERE s.job IN (SELECT job FROM several) GROUP BY ALL
),
held AS (
  SELECT job, CAST(count(*) AS INTEGER) AS site_count FROM hours GROUP BY job
)
SELECT j.job, j."set", o.site, j.first_day, j.last_day, coalesce(n.site_count, 0) AS held_sites, j.wall AS job_wall, j.billed_wall AS job_billed_wall,
  h.starts, h.ends, h.machines, t.wall, t.billed_wall, t.gpu, t.billed_gpu, t.gpu_unknown, j.currency, {{costs}}, {{rates}}, {{estimated_of_costs}}
FROM several j
JOIN (SELECT job, site FROM hours UNION SELECT job, site FROM costs) o ON o.job = j.job
LEFT JOIN held n ON n.job = j.job
LEFT JOIN hours t ON t.job = j.job AND t.site = o.site
LEFT JOIN placed h ON h.job = j.job AND h.site = o.site
LEFT JOIN costs c ON c.job = j.job AND c.site = o.site AND c.currency = j.currency
ORDER BY o.site, j.job
