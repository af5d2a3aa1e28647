-- Sum cost and hours by job and machine name, labels and site: money and time in one row.
-- In: grain_summed, grain_hours_m, grain_currencies.
-- Out: the time of a job on one machine, whatever it held elsewhere. `alone` marks the only row of a job and machine.
WITH money AS (
  SELECT job, named, CAST("set" AS BIGINT) * 1048576 + site AS pattern, way, payer_number, {{sums}}
  FROM grain_summed GROUP BY job, named, "set", site, way, payer_number
),
hours AS (
  SELECT h.*, c.time_way FROM grain_hours_m h JOIN grain_currencies c ON c.number = -h.way
),
joined AS MATERIALIZED (
  SELECT coalesce(m.job, h.job) AS job, coalesce(m.named, h.named) AS named, coalesce(m.pattern, h.pattern) AS pattern,
    coalesce(m.way, h.time_way) AS way, m.payer_number, {{beside}}
  FROM money m
  FULL JOIN hours h ON h.job = m.job AND h.named = m.named AND h.pattern = m.pattern AND h.time_way = m.way
),
several AS (
  SELECT job, named FROM joined WHERE job IS NOT NULL GROUP BY job, named HAVING count(*) > 1
)
SELECT a.*, a.job IS NOT NULL AND s.job IS NULL AS alone
FROM joined a LEFT JOIN several s ON s.job = a.job AND s.named = a.named
