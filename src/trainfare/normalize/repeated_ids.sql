-- Find the jobs that share an id with others: a cluster may start to count anew, and a log may mix clusters.
-- In: named_placements. Out: one row per such job, with the time between its first and its last submission, and its own
-- id. Runs of one person with one id are one job, unless one was submitted more than a week after all earlier ones were
-- over: a scheduler can run a job again only while it remembers it. Without a submit time, the start counts, and a
-- pause does not make another job.
WITH shared AS (
  SELECT job_id FROM named_placements WHERE log_user IS NOT NULL
  GROUP BY job_id
  HAVING min(log_user) <> max(log_user) OR epoch_second(max(submitted)) - epoch_second(min(submitted)) > 604800
),
runs AS (
  SELECT p.job_id, p.log_user, coalesce(p.submitted, p.started) AS submitted, count(p.submitted) > 0 AS is_known,
    max(coalesce(p.ended, p.started)) AS ended
  FROM named_placements p JOIN shared s ON s.job_id = p.job_id
  WHERE p.log_user IS NOT NULL
  GROUP BY p.job_id, p.log_user, coalesce(p.submitted, p.started)
),
ordered AS (
  SELECT *, max(ended) OVER (
      PARTITION BY job_id, log_user ORDER BY submitted ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS over_before
  FROM runs
),
sequences AS (
  SELECT *, sum(CASE WHEN is_known AND epoch_second(submitted) > epoch_second(over_before) + 604800 THEN 1 ELSE 0 END)
    OVER (PARTITION BY job_id, log_user ORDER BY submitted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS sequence
  FROM ordered
),
jobs AS (
  SELECT job_id, log_user, min(submitted) AS first_submitted, max(submitted) AS last_submitted
  FROM sequences GROUP BY job_id, log_user, sequence
),
counted AS (
  SELECT *, count(*) OVER (PARTITION BY job_id) AS jobs,
    row_number() OVER (PARTITION BY job_id, date_trunc('second', first_submitted) ORDER BY log_user) AS position
  FROM jobs
)
SELECT job_id, log_user, first_submitted, last_submitted,
  job_id || '@' || replace(CAST(date_trunc('second', first_submitted) AS VARCHAR), ' ', 'T') || 'Z'
    || CASE WHEN position > 1 THEN '-' || position ELSE '' END AS own_id
FROM counted WHERE jobs > 1
