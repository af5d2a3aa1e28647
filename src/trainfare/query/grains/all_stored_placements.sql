-- List what was held in a month, and how much of it this book and others bill.
-- In: stored_placements, foreign_hours, book_attempts, book_machines. Out: a placement that another book bills in part
-- is cut where its bill begins or ends.
WITH numbered AS (
  SELECT *, row_number() OVER () AS number FROM stored_placements
),
billed AS (
  SELECT p.number, greatest(f.starts, p.starts) AS starts, least(f.ends, p.ends) AS ends
  FROM numbered p
  JOIN book_attempts a ON a.attempt_key = p.attempt_key
  LEFT JOIN book_machines m ON m.machine = p.machine
  JOIN foreign_hours f ON f.job_id = a.job_id AND f.attempt = a.attempt AND f.starts < p.ends AND f.ends > p.starts
    AND coalesce(lower(m.resource_id) = lower(f.resource_id), lower(p.unknown_machine) = lower(f.machine_id))
),
spans AS (
  SELECT number, starts, ends FROM billed
  UNION ALL
  SELECT number, billed_starts, billed_ends FROM numbered
  WHERE billed_ends > billed_starts AND number IN (SELECT number FROM billed)
),
cuts AS (
  SELECT number, unnest([starts, ends]) AS cut FROM spans
  UNION
  SELECT number, unnest([starts, ends]) FROM numbered WHERE number IN (SELECT number FROM billed)
),
between_cuts AS (
  SELECT number, cut AS starts, lead(cut) OVER (PARTITION BY number ORDER BY cut) AS ends FROM cuts
),
marked AS (
  SELECT x.*, EXISTS (
      SELECT 1 FROM spans s WHERE s.number = x.number AND s.starts <= x.starts AND s.ends >= x.ends
    ) AS is_billed
  FROM between_cuts x WHERE x.ends IS NOT NULL
)
SELECT * EXCLUDE (number) FROM numbered WHERE number NOT IN (SELECT number FROM billed)
UNION ALL BY NAME
SELECT p.* EXCLUDE (number) REPLACE (x.starts AS starts, x.ends AS ends, p.running AND x.ends = p.ends AS running,
  CASE WHEN x.is_billed THEN x.starts END AS billed_starts, CASE WHEN x.is_billed THEN x.ends END AS billed_ends)
FROM marked x JOIN numbered p ON p.number = x.number
