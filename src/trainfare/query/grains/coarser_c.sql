-- Map each pattern of places to its pattern of corners: labels and sites.
-- In: grain_pattern_f.
WITH corners AS (
  SELECT DISTINCT pattern, CAST("set" AS BIGINT) * 1048576 + site AS corner FROM grain_pattern_f
),
listed AS (
  SELECT pattern, list_sort(list(corner)) AS corners FROM corners WHERE pattern < 0 GROUP BY pattern
),
numbered AS (
  SELECT corners, -row_number() OVER (ORDER BY corners) AS number
  FROM (SELECT DISTINCT corners FROM listed WHERE len(corners) > 1)
)
SELECT pattern, corner AS coarser FROM corners WHERE pattern >= 0
UNION ALL
SELECT l.pattern, coalesce(n.number, l.corners[1]) FROM listed l LEFT JOIN numbered n ON n.corners = l.corners
