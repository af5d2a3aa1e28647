-- Sum cost and hours by job, labels, site and day: money and time in one row.
-- In: grain_shares, grain_hours_c, grain_currencies.
-- Out: time has a row of its own where no money of the job stands beside it; cost that no job pays has no pattern.
WITH summed AS (
  SELECT job, CASE WHEN job IS NOT NULL THEN CAST("set" AS BIGINT) * 1048576 + site END AS pattern, "set", site, day,
    way_3 AS way, payer_number, {{sums}}, CAST(NULL AS BIGINT) AS wall, CAST(NULL AS BIGINT) AS billed_wall,
    CAST(NULL AS HUGEINT) AS gpu, CAST(NULL AS HUGEINT) AS billed_gpu, false AS gpu_unknown
  FROM grain_shares GROUP BY job, "set", site, day, way_3, payer_number
  UNION ALL
  SELECT h.job, h.pattern, CASE WHEN h.pattern >= 0 THEN h.pattern // 1048576 END,
    CASE WHEN h.pattern >= 0 THEN h.pattern % 1048576 END, h.day, c.time_way, NULL, {{no_money}}, h.wall,
    h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown
  FROM grain_hours_c h JOIN grain_currencies c ON c.number = -h.way
),
added AS MATERIALIZED (
  SELECT job, pattern, CAST("set" AS INTEGER) AS "set", CAST(site AS INTEGER) AS site, day, way, payer_number, {{sums}},
    {{hour_sums}}
  FROM summed GROUP BY job, pattern, "set", site, day, way, payer_number
),
single AS (
  SELECT job FROM added WHERE job IS NOT NULL GROUP BY job HAVING count(*) = 1
)
SELECT a.*, s.job IS NOT NULL AS alone FROM added a LEFT JOIN single s ON s.job = a.job
ORDER BY a.day, a.job
