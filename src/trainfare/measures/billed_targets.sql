-- Find the time for which each target is charged, and whether it may have gaps.
-- In: time_charge_kinds, charged_hours. Out: one row per target. There is no gap if one charge covers all of the time,
-- or each of its hours has a charge.
SELECT k.target, min(k.first_second) AS first_second, max(k.last_second) AS last_second,
  max(k.last_second) - min(k.first_second) NOT IN (max(k.longest), coalesce(max(h.hours), 0) * 3600) AS has_gaps
FROM time_charge_kinds k LEFT JOIN charged_hours h ON h.target = k.target
GROUP BY k.target
