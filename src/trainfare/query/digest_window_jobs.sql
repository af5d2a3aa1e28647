-- In: digest_jobs, the jobs that reach beyond the days asked about, as a query; digest_placements, digest_shares, digest_share_kinds. Out: the jobs of some days of a book with what they cost and held
-- in these: one within them as it is, the others by what is there of them.
WITH across AS ({{across}}),
placed AS (
  SELECT p.book, p.job, min(greatest(p.starts, {{first_second}})) AS starts, max(least(p.ends, {{last_second}})) AS ends,
    CAST(count(DISTINCT p.machine) + count(DISTINCT p.unknown_machine) AS INTEGER) AS machines
  FROM digest_placements p JOIN across x ON x.book = p.book AND x.job = p.job
  WHERE p.starts < {{last_second}} AND p.ends > {{first_second}} GROUP BY p.book, p.job
),
expected AS (
  SELECT s.book, s.job, CAST(sum(s.{{basis}}) AS DECIMAL(38,12)) AS estimated
  FROM (SELECT s.*, DATE '1970-01-01' + s.day AS date, w.category, w.currency FROM digest_shares s JOIN digest_share_kinds w ON w.book = s.book AND w.share_kind = s.share_kind
    WHERE {{estimated}} AND w.origin = 'estimate') s
  JOIN across x ON x.book = s.book AND x.job = s.job
  WHERE {{that_money}} AND s.date >= {{first}} AND s.date < {{last}} GROUP BY s.book, s.job
)
SELECT j.book, j.job, j.job_id, j."set", j.attempts, j.state, j.preemptions, j.starts, j.ends, j.machines, j.wall, j.gpu, j.gpu_unknown, j.currency, {{priced}}
FROM digest_jobs j WHERE j.currency = {{currency}} AND j.first_day >= {{first}} AND j.last_day < {{last}}
UNION ALL
SELECT j.book, j.job, j.job_id, j."set", j.attempts, j.state, j.preemptions, p.starts, p.ends, p.machines, h.wall, h.gpu, h.gpu_unknown, j.currency,
  h.cost, coalesce(e.estimated, 0) AS estimated, per_hour(h.cost, {{time}}) AS rate
FROM across h
JOIN digest_jobs j ON j.book = h.book AND j.job = h.job AND j.currency = {{currency}}
LEFT JOIN placed p ON p.book = h.book AND p.job = h.job
LEFT JOIN expected e ON e.book = h.book AND e.job = h.job
