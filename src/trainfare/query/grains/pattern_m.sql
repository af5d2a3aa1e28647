-- List the corners of each pattern of one machine: labels and sites.
-- In: grain_fact_m; the patterns of several corners.
SELECT pattern, CAST(corner // 1048576 AS INTEGER) AS "set", CAST(corner % 1048576 AS INTEGER) AS site
FROM (
  SELECT pattern, unnest(places) AS corner FROM {{patterns}}
  UNION ALL
  SELECT DISTINCT pattern, pattern FROM grain_fact_m WHERE pattern >= 0
)
