-- List the names of jobs besides their ids: what a log calls them, where no other job of the month has that name.
-- In: placement_rows. Out: one row per name that is not itself the id of a job; is_only_spelling is whether that is also
-- true without regard to case, as tags are compared.
WITH ids AS (
  SELECT DISTINCT native_id, job_id FROM placement_rows
),
counted AS (
  SELECT native_id, job_id, count(*) OVER (PARTITION BY native_id) AS jobs,
    count(*) OVER (PARTITION BY lower(native_id)) AS spelled_alike
  FROM ids WHERE native_id <> job_id
)
SELECT c.native_id AS name, c.job_id, c.spelled_alike = 1 AND l.job_id IS NULL AS is_only_spelling
FROM counted c
LEFT JOIN (SELECT DISTINCT job_id FROM ids) j ON j.job_id = c.native_id
LEFT JOIN (SELECT DISTINCT lower(job_id) AS job_id FROM ids) l ON l.job_id = lower(c.native_id)
WHERE c.jobs = 1 AND j.job_id IS NULL
