-- List one page of jobs, sorted, with the number and the cost of all of them.
-- In: attempts, the cost report by job, the estimated cost per job, the selected placements.
WITH costed AS (
  {{cost}}
),
labeled AS (
  SELECT job_id, count(*) AS attempts, arg_max(state, attempt) AS state,
    count(*) FILTER (state = 'preempted') AS preemptions, {{labels}}
  FROM attempts GROUP BY job_id
),
estimated AS (
  {{estimated}}
),
placed AS (
  SELECT job_id, make_timestamp(min(starts) * 1000000) AS started, make_timestamp(max(ends) * 1000000) AS ended,
    count(DISTINCT machine_id) AS machines
  FROM {{placements}} GROUP BY job_id
)
SELECT c.k0 AS job, l.state, l.attempts, l.preemptions, {{label_names}}, p.started, p.ended, p.machines,
  c.wall AS wall_seconds, CASE WHEN NOT c.gpu_unknown THEN c.gpu * 0.000001 END AS gpu_seconds,
  c.cost, coalesce(e.estimated, 0) AS estimated, c.rate, count(*) OVER () AS jobs, sum(c.cost) OVER () AS jobs_cost
FROM costed c
JOIN labeled l ON l.job_id = c.k0
LEFT JOIN placed p ON p.job_id = c.k0
LEFT JOIN estimated e ON e.job_id = c.k0
WHERE {{where}}
ORDER BY {{order}}
{{limit}}
