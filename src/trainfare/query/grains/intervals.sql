-- Cut the time of each owner whose placements differ wherever a placement begins or ends, or its complete days do.
-- In: what these owners held.
-- Out: per piece the places that were held just then, and once more those of which the day is billed in full.
WITH together AS (
  SELECT way, owner, any_value(starts) AS starts, any_value(ends) AS ends, bool_and(is_complete) AS is_complete,
    list_sort(list(DISTINCT place)) AS places
  FROM {{others}} WHERE is_together GROUP BY way, owner
),
times AS (
  SELECT DISTINCT way, owner, place, starts, ends, false AS is_billed FROM {{others}} WHERE NOT is_together
  UNION ALL
  SELECT DISTINCT way, owner, place, starts, ends, true FROM {{others}} WHERE NOT is_together AND is_complete
),
cuts AS (
  SELECT DISTINCT way, owner, is_billed, unnest([starts, ends]) AS cut FROM times
),
between_cuts AS (
  SELECT way, owner, is_billed, cut AS starts, lead(cut) OVER (PARTITION BY way, owner, is_billed ORDER BY cut) AS ends
  FROM cuts
)
SELECT x.way, x.owner, x.is_billed, x.starts, x.ends, list_sort(list(DISTINCT h.place)) AS places
FROM between_cuts x
JOIN times h ON h.way = x.way AND h.owner = x.owner AND h.is_billed = x.is_billed
  AND h.starts <= x.starts AND h.ends >= x.ends
GROUP BY x.way, x.owner, x.is_billed, x.starts, x.ends
UNION ALL
SELECT way, owner, false, starts, ends, places FROM together
UNION ALL
SELECT way, owner, true, starts, ends, places FROM together WHERE is_complete
