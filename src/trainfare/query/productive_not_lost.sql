-- Remove the time whose work was lost from placements.
-- In: book_placements, book_work.
WITH lost AS (
  SELECT job_id, attempt, starts, ends FROM book_work WHERE part = 'lost'
),
kept_intervals AS (
  SELECT job_id, attempt, coalesce(lag(ends) OVER (PARTITION BY job_id, attempt ORDER BY starts), -9000000000) AS first,
    starts AS last
  FROM lost
  UNION ALL
  SELECT job_id, attempt, max(ends), 253402300800 FROM lost GROUP BY job_id, attempt
)
SELECT p.* REPLACE (greatest(p.starts, b.first) AS starts, least(p.ends, b.last) AS ends,
  CASE WHEN p.billed_starts < b.last AND p.billed_ends > b.first THEN greatest(p.billed_starts, b.first) END
    AS billed_starts,
  CASE WHEN p.billed_starts < b.last AND p.billed_ends > b.first THEN least(p.billed_ends, b.last) END AS billed_ends)
FROM book_placements p
JOIN kept_intervals b ON b.job_id = p.job_id AND b.attempt = p.attempt AND b.first < p.ends AND b.last > p.starts
  AND b.first < b.last
UNION ALL
SELECT p.* FROM book_placements p
WHERE NOT EXISTS (SELECT 1 FROM lost l WHERE l.job_id = p.job_id AND l.attempt = p.attempt)
