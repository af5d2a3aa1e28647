-- Cut the time of each job wherever a placement begins or ends, or its complete days do.
-- In: what was held.
-- Out: per piece the places that were held just then, and once more those of which the day is billed in full.
WITH jobs AS (
  SELECT way, job, min(starts) AS starts, max(ends) AS ends, bool_and(is_complete) AS is_complete,
    list_sort(list(DISTINCT place)) AS places,
    min(starts) = max(starts) AND min(ends) = max(ends) AND bool_and(is_complete) = bool_or(is_complete) AS is_together
  FROM {{held}} GROUP BY way, job
),
staggered AS (
  SELECT h.* FROM {{held}} h JOIN jobs j ON j.way = h.way AND j.job = h.job WHERE NOT j.is_together
),
times AS (
  SELECT way, job, place, starts, ends, false AS is_billed FROM staggered
  UNION ALL
  SELECT way, job, place, starts, ends, true FROM staggered WHERE is_complete
),
cuts AS (
  SELECT DISTINCT way, job, is_billed, unnest([starts, ends]) AS cut FROM times
),
between_cuts AS (
  SELECT way, job, is_billed, cut AS starts, lead(cut) OVER (PARTITION BY way, job, is_billed ORDER BY cut) AS ends
  FROM cuts
)
SELECT x.way, x.job, x.is_billed, x.starts, x.ends, list_sort(list(DISTINCT h.place)) AS places
FROM between_cuts x
JOIN times h ON h.way = x.way AND h.job = x.job AND h.is_billed = x.is_billed
  AND h.starts <= x.starts AND h.ends >= x.ends
GROUP BY x.way, x.job, x.is_billed, x.starts, x.ends
UNION ALL
SELECT way, job, false, starts, ends, places FROM jobs WHERE is_together
UNION ALL
SELECT way, job, true, starts, ends, places FROM jobs WHERE is_together AND is_complete
