-- Sum cost and hours by job, labels and day: money and time in one row.
-- In: grain_summed, grain_hours_s, grain_currencies.
-- Out: time has a row of its own where no money of the job stands beside it; cost that no job pays has no pattern.
-- `alone` marks the only row of a job, `alone_in_day` those of a job that has one row in each of its days.
WITH money AS (
  SELECT job, "set", day, way, payer_number, {{sums}} FROM grain_summed GROUP BY job, "set", day, way, payer_number
),
hours AS (
  SELECT h.*, c.time_way FROM grain_hours_s h JOIN grain_currencies c ON c.number = -h.way
),
joined AS MATERIALIZED (
  SELECT coalesce(m.job, h.job) AS job, coalesce(CAST(m."set" AS BIGINT), h.pattern) AS pattern,
    coalesce(m."set", CAST(CASE WHEN h.pattern >= 0 THEN h.pattern END AS INTEGER)) AS "set",
    coalesce(m.day, h.day) AS day, coalesce(m.way, h.time_way) AS way, m.payer_number, {{beside}}
  FROM money m
  FULL JOIN hours h ON h.job = m.job AND h.pattern = m."set" AND h.day = m.day AND h.time_way = m.way
)
SELECT a.*, coalesce(c.entries = 1, false) AS alone, coalesce(c.entries = c.days, false) AS alone_in_day
FROM joined a LEFT JOIN ({{entries}}) c ON c.job = a.job
