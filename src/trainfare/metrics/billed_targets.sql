-- In: timed_kinds, charged_hours. Out: from when to when each target is charged for time, and whether there may be gaps: there are none if one charge is for all of it, or each of its hours has one.
SELECT k.target, min(k.first_second) AS first_second, max(k.last_second) AS last_second,
  max(k.last_second) - min(k.first_second) NOT IN (max(k.longest), coalesce(max(h.hours), 0) * 3600) AS has_gaps
FROM timed_kinds k LEFT JOIN charged_hours h ON h.target = k.target
GROUP BY k.target
