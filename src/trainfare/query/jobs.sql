-- List jobs, sorted, with their cost and hours in the selection.
-- In: cost and hours per job; the jobs with their labels; the selected placements.
WITH facts AS ({{facts}}),
listed AS MATERIALIZED (
  SELECT h.*, per_hour(h.rate_cost, {{priced}}) AS rate, per_hour(h.known_cost, {{all_time}}) AS known_rate
  FROM facts h WHERE h.wall IS NOT NULL OR h.cost IS NOT NULL{{page}}
),
placed AS (
  SELECT p.job, min(p.starts) AS starts, max(p.ends) AS ends,
    count(DISTINCT p.machine) + count(DISTINCT p.unknown_machine) AS machines
  FROM {{placements}} SEMI JOIN listed l ON l.job = p.job GROUP BY p.job
),
page AS (
  SELECT j.job_id AS job, j.state, j.attempts, j.preemptions, {{labels}}, make_timestamp(p.starts * 1000000) AS started,
    make_timestamp(p.ends * 1000000) AS ended, p.machines, h.wall AS wall_seconds,
    CASE WHEN NOT h.gpu_unknown THEN h.gpu * 0.000001 END AS gpu_seconds, h.cost, coalesce(h.estimated, 0) AS estimated,
    h.rate, CASE WHEN h.rate IS NULL THEN h.known_rate END AS at_least
  FROM listed h
  JOIN {{jobs}} j ON j.job = h.job
  LEFT JOIN {{sets}} a ON {{same_set}}
  LEFT JOIN placed p ON p.job = h.job
  WHERE {{where}}
  ORDER BY {{order}}
  {{limit}}
)
SELECT a.* EXCLUDE (labels), {{scheduling}}
FROM page a
ORDER BY {{order_of_page}}
