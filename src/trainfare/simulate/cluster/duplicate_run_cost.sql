-- Compute the cost that is allocated to the duplicates of runs that were logged twice.
-- Each of the two names appears to hold the machine, so each gets half of its cost; duplicates also get a share of
-- their team's dataset costs.
-- In: held_hours, prices, duplicate_runs, jobs, true_lines.
WITH held AS (
  SELECT h.*, r.price, j.team, h.hour // 86400 * 86400 AS day,
    h.number IN (SELECT number FROM duplicate_runs) AS is_duplicate
  FROM held_hours h JOIN prices r ON r.pool = h.pool AND r.hour = h.hour JOIN jobs j ON j.job_id = h.job_id
),
days AS (
  SELECT team, day, sum(gpu_seconds) AS held, coalesce(sum(gpu_seconds) FILTER (is_duplicate), 0) AS duplicated
  FROM held GROUP BY team, day
)
SELECT CAST(sum(units) AS HUGEINT)
FROM (
  SELECT sum(gpu_seconds * (price + {{disk_price}})) // 2 AS units FROM held WHERE is_duplicate
  UNION ALL
  SELECT sum(CAST(l.effective AS HUGEINT) * d.duplicated // (d.held + d.duplicated))
  FROM true_lines l JOIN days d ON d.team = l.resource_name AND d.day = l.starts
  WHERE l.kind = 'datasets'
)
