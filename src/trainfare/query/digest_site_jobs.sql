-- In: digest_sites, digest_sets, digest_jobs, digest_job_sites, digest_placements, digest_shares, digest_share_kinds. Out: the jobs of one book with what they cost and held on the sites and days asked
-- about, per group of sites, with the number of one of the group. A job on one site and within the days is there as it is; of others, wall time is the union of time on several sites: it is known where
-- one site was held, or all that the job held, or one as long as all. The rest is counted again from its placements and shares.
WITH chosen AS (
  SELECT m.site, min(m.site) OVER (PARTITION BY {{site_groups}}) AS first_site FROM digest_sites m WHERE {{only_sites}}
),
several AS MATERIALIZED (
  SELECT j.book, j.job, j."set", c.first_site AS site, CAST(sum(j.{{cost}}) AS DECIMAL(38,12)) AS cost, sum(j.estimated_{{basis}}) AS estimated,
    CASE WHEN count(*) = 1 THEN any_value({{job_rate}}) END AS rate, min(j.starts) AS starts, max(j.ends) AS ends, CAST(sum(j.machines) AS INTEGER) AS machines,
    CASE WHEN count(j.wall) = max(j.held_sites) THEN max(j.job_wall) ELSE max(j.wall) END AS wall,
    CASE WHEN count(j.wall) = max(j.held_sites) THEN max(j.job_billed_wall) ELSE max(j.billed_wall) END AS billed_wall,
    CAST(sum(j.gpu) AS HUGEINT) AS gpu, CAST(sum(j.billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(j.gpu_unknown) AS gpu_unknown,
    count(j.wall) IN (0, 1, max(j.held_sites)) OR (max(j.wall) = max(j.job_wall) AND max(j.billed_wall) = max(j.job_billed_wall)) AS is_known
  FROM digest_job_sites j JOIN chosen c ON c.site = j.site
  WHERE j.currency = {{currency}} AND j.first_day >= {{first}} AND j.last_day < {{last}} AND {{in_sets}}
  GROUP BY j.book, j.job, j."set", c.first_site
),
counted AS MATERIALIZED (
  SELECT job FROM several WHERE NOT is_known
  UNION
  SELECT j.job FROM digest_jobs j
  WHERE j.currency = {{currency}} AND j.first_day < {{last}} AND j.last_day >= {{first}} AND (j.first_day < {{first}} OR j.last_day >= {{last}}) AND {{in_sets}}
),
occupied AS MATERIALIZED (
  SELECT p.job AS job_id, c.first_site AS site, p.machine, p.unknown_machine, p.gpu_micros, greatest(p.starts, {{first_second}}) AS starts, least(p.ends, {{last_second}}) AS ends,
    CASE WHEN p.billed_starts IS NOT NULL THEN greatest(p.billed_starts, {{first_second}}) END AS billed_starts,
    CASE WHEN p.billed_ends IS NOT NULL THEN least(p.billed_ends, {{last_second}}) END AS billed_ends
  FROM digest_placements p JOIN counted x ON x.job = p.job JOIN chosen c ON c.site = p.site
  WHERE p.starts < {{last_second}} AND p.ends > {{first_second}}
),
hours AS ({{counted_hours}}),
placed AS (
  SELECT job_id AS job, site, min(starts) AS starts, max(ends) AS ends, CAST(count(DISTINCT machine) + count(DISTINCT unknown_machine) AS INTEGER) AS machines
  FROM occupied GROUP BY job_id, site
),
costs AS (
  SELECT s.job, s.site, CAST(sum(s.{{basis}}) AS DECIMAL(38,12)) AS cost, sum(s.{{basis}}) FILTER (s.origin = 'estimate') AS estimated
  FROM (
    SELECT p.job, c.first_site AS site, DATE '1970-01-01' + p.day AS day, w.category, w.currency, w.origin, p.{{basis}}
    FROM digest_shares p JOIN counted x ON x.job = p.job JOIN chosen c ON c.site = p.site
    JOIN digest_share_kinds w ON w.share_kind = p.share_kind
  ) s
  WHERE {{money_in_days}} GROUP BY s.job, s.site
)
SELECT j.book, j.job, j."set", c.first_site AS site, j.{{cost}} AS cost, j.estimated_{{basis}} AS estimated, {{job_rate}} AS rate, j.starts, j.ends, j.machines,
  1 AS jobs, j.wall, j.billed_wall, j.gpu, j.billed_gpu, j.gpu_unknown
FROM digest_jobs j JOIN chosen c ON c.site = j.site
WHERE j.currency = {{currency}} AND j.first_day >= {{first}} AND j.last_day < {{last}} AND {{in_sets}}
UNION ALL
SELECT h.book, h.job, h."set", h.site, h.cost, coalesce(h.estimated, 0), coalesce(h.rate, per_hour(h.cost, {{priced}})), h.starts, h.ends, h.machines,
  1, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown
FROM several h ANTI JOIN counted x ON x.job = h.job
UNION ALL
SELECT j.book, j.job, j."set", o.site, c.cost, coalesce(c.estimated, 0), per_hour(c.cost, {{priced}}), p.starts, p.ends, p.machines,
  1, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown
FROM (SELECT job, site FROM hours UNION SELECT job, site FROM costs) o
JOIN digest_jobs j ON j.job = o.job AND j.currency = {{currency}}
LEFT JOIN hours h ON h.job = o.job AND h.site = o.site
LEFT JOIN placed p ON p.job = o.job AND p.site = o.site
LEFT JOIN costs c ON c.job = o.job AND c.site = o.site
