-- Placements that lie partly outside the time in which their listed machine existed.
-- Times of one name that overlap or follow each other without a gap are merged, so that a placement within them is
-- within one of them.
WITH listed AS (
  SELECT lower(machine_id) AS name, coalesce(epoch_second(existed_from), -9000000000) AS starts,
    coalesce(epoch_second(existed_to), 253402300800) AS ends
  FROM machine_rows
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY name ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM listed
),
islands AS (
  SELECT *, sum(CASE WHEN starts <= previous_end THEN 0 ELSE 1 END) OVER (
      PARTITION BY name ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS island
  FROM ordered
),
lifetimes AS (
  SELECT name, min(starts) AS starts, max(ends) AS ends FROM islands GROUP BY name, island
)
SELECT 'job ' || p.job_id || ' on ' || p.machine_id || ' from ' || p.started AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM placement_rows p
JOIN (SELECT DISTINCT name FROM lifetimes) n ON n.name = lower(p.machine_id)
LEFT JOIN lifetimes s ON s.name = lower(p.machine_id) AND s.starts <= epoch_second(p.started)
  AND s.ends >= epoch_second(coalesce(p.ended, p.started))
WHERE s.name IS NULL
