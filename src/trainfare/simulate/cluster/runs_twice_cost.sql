-- In: held_hours, prices, runs_twice, jobs, lines. Out: what the copies of runs are given. Both names are believed to hold the whole machine, so each gets half of its cost;
-- and copies take part in what the data of their team costs.
WITH held AS (
  SELECT h.*, r.price, j.team, h.hour // 86400 * 86400 AS day, h.number IN (SELECT number FROM runs_twice) AS is_twice
  FROM held_hours h JOIN prices r ON r.pool = h.pool AND r.hour = h.hour JOIN jobs j ON j.job_id = h.job_id
),
days AS (
  SELECT team, day, sum(gpu_seconds) AS held, coalesce(sum(gpu_seconds) FILTER (is_twice), 0) AS held_twice FROM held GROUP BY team, day
)
SELECT CAST(sum(units) AS HUGEINT)
FROM (
  SELECT sum(gpu_seconds * (price + {{disk_price}})) // 2 AS units FROM held WHERE is_twice
  UNION ALL
  SELECT sum(CAST(l.effective AS HUGEINT) * d.held_twice // (d.held + d.held_twice)) FROM lines l JOIN days d ON d.team = l.resource_name AND d.day = l.starts
  WHERE l.kind = 'datasets'
)
