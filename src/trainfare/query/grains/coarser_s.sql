-- Map each pattern of labels and sites to its pattern of labels.
-- In: grain_pattern_c.
WITH sets AS (
  SELECT DISTINCT pattern, CAST("set" AS BIGINT) AS "set" FROM grain_pattern_c
),
listed AS (
  SELECT pattern, list_sort(list("set")) AS sets FROM sets GROUP BY pattern
),
numbered AS (
  SELECT sets, -row_number() OVER (ORDER BY sets) AS number FROM (SELECT DISTINCT sets FROM listed WHERE len(sets) > 1)
)
SELECT l.pattern, coalesce(n.number, l.sets[1]) AS coarser FROM listed l LEFT JOIN numbered n ON n.sets = l.sets
