-- Remove the time whose work was lost from placements.
-- In: grain_placed, grain_phases. Out: the placements of the jobs that lost any.
WITH lost AS (
  SELECT attempt_key, starts, ends FROM grain_phases WHERE part = 'lost'
),
kept_intervals AS (
  SELECT attempt_key, coalesce(lag(ends) OVER (PARTITION BY attempt_key ORDER BY starts), -9000000000) AS first,
    starts AS last
  FROM lost
  UNION ALL
  SELECT attempt_key, max(ends), 253402300800 FROM lost GROUP BY attempt_key
)
SELECT p.* REPLACE (greatest(p.starts, b.first) AS starts, least(p.ends, b.last) AS ends,
  CASE WHEN p.billed_starts < b.last AND p.billed_ends > b.first THEN greatest(p.billed_starts, b.first) END
    AS billed_starts,
  CASE WHEN p.billed_starts < b.last AND p.billed_ends > b.first THEN least(p.billed_ends, b.last) END AS billed_ends)
FROM grain_placed p
JOIN kept_intervals b ON b.attempt_key = p.attempt_key AND b.first < p.ends AND b.last > p.starts AND b.first < b.last
UNION ALL
SELECT p.* FROM grain_placed p
WHERE p.job IN (SELECT job FROM grain_phases WHERE part = 'lost')
  AND p.attempt_key NOT IN (SELECT attempt_key FROM lost)
