-- In: attempts, placed, prices, month. Out: for each job the cost of the machine time it lost: since the last checkpoint of who was interrupted, and until work went on in the next
-- attempt; all of it, and what of it was lost because a spot machine was taken away.
WITH tried AS (
  SELECT *, lag(state) OVER (PARTITION BY job_id ORDER BY attempt) AS before,
    least(started + load, ended) AS working, CASE WHEN saved > 0 THEN started + load + saved * ("interval" + saving) END AS last_saved
  FROM attempts
),
lost AS (
  SELECT number, job_id, pool, gpus, coalesce(last_saved, working) AS starts, ended AS ends, state = 'preempted' AS is_taken FROM tried WHERE state <> 'completed'
  UNION ALL
  SELECT number, job_id, pool, gpus, started, working, before = 'preempted' FROM tried WHERE before IS NOT NULL
),
hours AS (
  SELECT *, unnest(range(greatest(starts, {{start}}) // 3600 * 3600, least(ends, {{end}}), 3600)) AS hour FROM lost
),
costs AS (
  SELECT h.job_id, h.is_taken, h.gpus * (least(h.ends, h.hour + 3600, {{end}}) - greatest(h.starts, h.hour, {{start}})) * r.price AS units
  FROM hours h JOIN placed p ON p.number = h.number JOIN prices r ON r.pool = h.pool AND r.hour = h.hour
)
SELECT job_id, CAST(sum(units) AS HUGEINT) AS units, CAST(coalesce(sum(units) FILTER (is_taken), 0) AS HUGEINT) AS taken
FROM costs GROUP BY job_id ORDER BY job_id
