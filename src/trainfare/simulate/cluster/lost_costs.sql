-- Compute the cost of the machine time each job lost: in total, and because a spot machine was preempted.
-- Lost is the time from the last checkpoint to an interruption, and from the next attempt's start until it works again.
-- In: attempts, placements, prices.
WITH ordered AS (
  SELECT *, lag(state) OVER (PARTITION BY job_id ORDER BY attempt) AS previous_state,
    least(started + load, ended) AS working,
    CASE WHEN saved > 0 THEN started + load + saved * ("interval" + saving) END AS last_saved
  FROM attempts
),
lost AS (
  SELECT number, job_id, pool, gpus, coalesce(last_saved, working) AS starts, ended AS ends,
    state = 'preempted' AS is_preempted
  FROM ordered WHERE state <> 'completed'
  UNION ALL
  SELECT number, job_id, pool, gpus, started, working, previous_state = 'preempted'
  FROM ordered WHERE previous_state IS NOT NULL
),
hours AS (
  SELECT *, unnest(range(greatest(starts, {{start}}) // 3600 * 3600, least(ends, {{end}}), 3600)) AS hour FROM lost
),
costs AS (
  SELECT h.job_id, h.is_preempted,
    h.gpus * (least(h.ends, h.hour + 3600, {{end}}) - greatest(h.starts, h.hour, {{start}})) * r.price AS units
  FROM hours h JOIN placements p ON p.number = h.number JOIN prices r ON r.pool = h.pool AND r.hour = h.hour
)
SELECT job_id, CAST(sum(units) AS HUGEINT) AS units,
  CAST(coalesce(sum(units) FILTER (is_preempted), 0) AS HUGEINT) AS preempted
FROM costs GROUP BY job_id ORDER BY job_id
