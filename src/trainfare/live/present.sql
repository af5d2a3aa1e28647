-- Find when each machine existed: while the machine file lists it as existing, or an attempt held it.
-- In: machines, placements, sizes. Out: disjoint spans per machine, with how much of it there is to hold per second.
WITH spans AS (
  SELECT machine, existed_from AS starts, existed_to AS ends FROM machines WHERE listed
  UNION ALL
  SELECT machine, starts, ends FROM placements WHERE machine IS NOT NULL
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY machine ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM spans WHERE ends > starts
),
disjoint AS (
  SELECT machine, greatest(starts, coalesce(previous_end, starts)) AS starts, ends
  FROM ordered WHERE previous_end IS NULL OR ends > previous_end
),
islands AS (
  SELECT *, sum(CASE WHEN starts = previous THEN 0 ELSE 1 END) OVER (
      PARTITION BY machine ORDER BY starts ROWS UNBOUNDED PRECEDING
    ) AS island
  FROM (SELECT *, lag(ends) OVER (PARTITION BY machine ORDER BY starts) AS previous FROM disjoint)
)
SELECT m.resource, s.capacity, CAST(min(i.starts) AS BIGINT) AS starts, CAST(max(i.ends) AS BIGINT) AS ends
FROM islands i
JOIN machines m ON m.machine = i.machine
JOIN sizes s ON s.machine = i.machine
GROUP BY m.resource, s.capacity, i.machine, i.island
